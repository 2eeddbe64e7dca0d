import { constants } from 'node:crypto'
import { createServer } from 'node:tls'
import { SocketStream } from '../../base/io/sockets/socket-stream.ts'
import type { ByteStream } from '../../base/io/streams/stream.ts'
import { StreamDuplex } from '../../base/io/streams/stream-duplex.ts'

const HANDSHAKE_TIMEOUT_MS = 10_000

/** Settings for TLS that terminates in the agent. */
export interface TerminationOptions {
  cert: string
  key: string
  /** Clients must present a certificate issued by one of these authorities. */
  clientCas: string | undefined
}

/**
 * Terminates the client's TLS and passes on the decrypted stream, or closes the connection if the handshake fails.
 * Node verifies client certificates only in a server, and a server cannot tell which stream a socket belongs to, so
 * each stream gets its own server.
 */
export function terminateTls(
  stream: ByteStream,
  { cert, key, clientCas }: TerminationOptions,
  events: { onSecure(plain: ByteStream): void; onFailed(error: Error): void },
): void {
  const server = createServer({
    cert,
    key,
    ...(clientCas === undefined ? {} : { ca: clientCas, requestCert: true, rejectUnauthorized: true }),
    handshakeTimeout: HANDSHAKE_TIMEOUT_MS,
    secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
    allowHalfOpen: true,
  })
  const duplex = new StreamDuplex(stream)
  let settled = false
  const fail = (error: Error) => {
    if (settled) return
    settled = true
    duplex.destroy(error)
    events.onFailed(error)
  }
  server.once('secureConnection', (socket) => {
    settled = true
    events.onSecure(new SocketStream(socket))
  })
  server.once('tlsClientError', fail)
  duplex.once('close', () => fail(new Error('The client disconnected during the TLS handshake.')))
  duplex.on('error', fail)
  server.emit('connection', duplex)
}
