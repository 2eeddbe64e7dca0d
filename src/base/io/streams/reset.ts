import type { Duplex } from 'node:stream'

/** A connection that can be reset, such as a socket. */
export type ResettableStream = Duplex & { resetAndDestroy(): unknown }

/**
 * Closes a connection so that its peer sees an error instead of a clean end. `carrier` is the stream that was written to,
 * such as the TLS socket around the transport.
 */
export function resetSocket(transport: ResettableStream, carrier: Duplex = transport): void {
  // The kernel rejects a reset after a half-close, which would leave the descriptor open.
  if (transport.writableEnded || carrier.writableEnded) transport.destroy()
  else tryReset(transport)
  if (carrier !== transport) carrier.destroy()
}

/** Only TCP has resets; Node throws for anything else. A TLS peer reports an end without close_notify as an error too. */
function tryReset(transport: ResettableStream): void {
  try {
    transport.resetAndDestroy()
  } catch {
    transport.destroy()
  }
}
