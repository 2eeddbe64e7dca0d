import { constants } from 'node:crypto'
import { createServer } from 'node:tls'
import type { ByteStream } from '../../base/io/stream.ts'
import { asDuplex, toByteStream } from './duplex.ts'

const HANDSHAKE_TIMEOUT_MS = 10_000

/** What TLS that ends in the agent needs. */
export interface TerminationOptions {
  cert: string
  key: string
  /** Visitors must show a certificate of one of these authorities. */
  clientCas: string | undefined
}

/**
 * Ends the visitor's TLS and hands over the plain stream, or closes a connection whose handshake fails. Node checks
 * client certificates in its server only, and a server cannot tell which stream a socket came from: so each stream
 * gets a server of its own.
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
  const duplex = asDuplex(stream)
  let settled = false
  const fail = (error: Error) => {
    if (settled) return
    settled = true
    duplex.destroy(error)
    events.onFailed(error)
  }
  server.once('secureConnection', (socket) => {
    settled = true
    events.onSecure(toByteStream(socket))
  })
  server.once('tlsClientError', fail)
  duplex.once('close', () => fail(new Error('The visitor left during the TLS handshake.')))
  duplex.on('error', fail)
  server.emit('connection', duplex)
}
