/**
 * Begins an attempt, and another one each `everyMs` for as long as none has succeeded; the first success wins and the
 * others are given up. An attempt sent into a dead link may never hear that the link is back, a later one does.
 */
export async function staggered<T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  everyMs: number,
  giveUp: AbortSignal,
): Promise<T> {
  const losers = new AbortController()
  const signal = AbortSignal.any([losers.signal, giveUp])
  let timer: NodeJS.Timeout | undefined
  try {
    return await new Promise<T>((resolve, reject) => {
      let pending = 0
      const begin = () => {
        pending++
        attempt(signal).then(resolve, (error) => {
          // A failure while others are under way says nothing about them.
          if (--pending === 0) reject(error)
        })
      }
      begin()
      timer = setInterval(begin, everyMs)
    })
  } finally {
    clearInterval(timer)
    losers.abort()
  }
}
