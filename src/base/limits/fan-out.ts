/** Handles the error of one receiver. */
export type OnReceiverError = (error: unknown) => void

/** Rethrows the error as an uncaught one, after all other receivers were called. */
export const rethrowAsync: OnReceiverError = (error) => {
  setImmediate(() => {
    throw error
  })
}

/** Calls `notify` for each receiver. An error of one receiver does not affect the others. */
export function fanOut<R>(
  receivers: Iterable<R>,
  notify: (receiver: R) => void,
  onError: OnReceiverError,
): void {
  for (const receiver of receivers) {
    try {
      notify(receiver)
    } catch (error) {
      onError(error)
    }
  }
}
