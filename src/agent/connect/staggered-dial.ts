/**
 * Begins an attempt, and another one each `everyMs` for as long as none has succeeded; the first success wins and the
 * others are given up. An attempt sent into a dead link may never hear that the link is back, a later one does.
 */
export async function dialStaggered<T>(
  attempt: (signal: AbortSignal) => Promise<T>,
  intervalMs: number,
  signal: AbortSignal,
): Promise<T> {
  const losers = new AbortController()
  const attemptSignal = AbortSignal.any([losers.signal, signal])
  let timer: NodeJS.Timeout | undefined
  try {
    return await new Promise<T>((resolve, reject) => {
      let pending = 0
      const startAttempt = () => {
        pending++
        attempt(attemptSignal).then(resolve, (error) => {
          // A failure while others are under way says nothing about them.
          if (--pending === 0) reject(error)
        })
      }
      startAttempt()
      timer = setInterval(startAttempt, intervalMs)
    })
  } finally {
    clearInterval(timer)
    losers.abort()
  }
}
