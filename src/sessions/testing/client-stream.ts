import type { ByteStream } from '../../base/io/streams/stream.ts'
import type { ClientInfo, TunnelLookup } from '../tunnel.ts'

/** A client of an HTTPS endpoint. */
export const CLIENT: ClientInfo = {
  clientAddress: '192.0.2.1:1234',
  serverAddress: '192.0.2.2:443',
  proto: 'https',
  via: 'endpoint',
  passthroughTls: false,
}

/** Opens the stream of a client of the HTTPS endpoint. */
export function openStream(
  tunnels: TunnelLookup,
  host: string,
): { stream: ByteStream; closed: () => boolean } {
  const stream = tunnels.atHost('https', host)!.next().open(CLIENT)
  let closed = false
  stream.sink = {
    onData() {},
    onEnd() {},
    onDrain() {},
    onClose() {
      closed = true
    },
  }
  return { stream, closed: () => closed }
}
