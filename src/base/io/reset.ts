import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'

/**
 * Ends a connection so that its peer sees an error instead of a clean end. `carrier` is the stream that was written to,
 * such as the TLS socket around the transport.
 */
export function resetSocket(transport: Socket, carrier: Duplex = transport): void {
  // A reset after a half-close is refused by the system and would leave the descriptor open.
  if (transport.writableEnded || carrier.writableEnded) transport.destroy()
  else tryReset(transport)
  if (carrier !== transport) carrier.destroy()
}

/** Only TCP knows a reset, and Node throws for anything else. To a TLS peer an end without farewell is an error as well. */
function tryReset(transport: Socket): void {
  try {
    transport.resetAndDestroy()
  } catch {
    transport.destroy()
  }
}
