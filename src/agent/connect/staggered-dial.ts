/**
 * Starts an attempt, and another every `intervalMs` until one succeeds; the first success aborts the others. An
 * attempt sent over a dead link may never notice that the link is back; a later one does.
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
          // A failure does not decide while other attempts are pending.
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
