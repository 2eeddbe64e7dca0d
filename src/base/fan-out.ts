/** Receives what one of several receivers threw. */
export type OnReceiverError = (error: unknown) => void

/** Makes the error an uncaught one, after every other receiver was called. */
export const throwLater: OnReceiverError = (error) => {
  setImmediate(() => {
    throw error
  })
}

/** Calls `tell` for each receiver. A receiver that throws keeps none of the others from being told. */
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
