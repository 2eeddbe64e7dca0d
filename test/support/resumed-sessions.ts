import { once } from 'node:events'
import { type ConnectionOptions, connect } from 'node:tls'

/** How many of 40 connections, at each port in turn, resume the TLS session of the one before. */
export async function countResumed(
  ports: readonly number[],
  ca: string,
  servername: string,
): Promise<number> {
  // TLS 1.2 sends the ticket within the handshake.
  const options: ConnectionOptions = { host: '127.0.0.1', servername, ca, maxVersion: 'TLSv1.2' }
  let session: Buffer | undefined
  let resumed = -1
  for (let index = 0; index <= 40; index++) {
    const port = ports[index % ports.length]!
    const socket = connect({ ...options, port, ...(session && { session }) })
    await once(socket, 'secureConnect')
    if (index === 0 || socket.isSessionReused()) resumed++
    session = socket.getSession()
    socket.destroy()
  }
  return resumed
}
