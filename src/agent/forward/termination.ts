import { createSecureContext, TLSSocket } from 'node:tls'
import type { ByteStream } from '../../base/stream.ts'
import { asByteStream, asDuplex } from './duplex.ts'

const HANDSHAKE_MS = 10_000

/** Ends the visitor's TLS: gets the encrypted stream, gives the plain one. */
export type Termination = (stream: ByteStream) => ByteStream

/** TLS ends here with this certificate; with authorities given, visitors must show a certificate of theirs. */
export function createTermination(options: {
  cert: string
  key: string
  clientCas: string | undefined
}): Termination {
  const { cert, key, clientCas } = options
  const secureContext = createSecureContext({
    cert,
    key,
    ...(clientCas === undefined ? {} : { ca: clientCas }),
  })
  return (stream) => {
    const socket = new TLSSocket(asDuplex(stream), {
      isServer: true,
      secureContext,
      requestCert: clientCas !== undefined,
      rejectUnauthorized: clientCas !== undefined,
    })
    const late = setTimeout(() => socket.destroy(new Error('The TLS handshake took too long.')), HANDSHAKE_MS)
    socket.once('secure', () => {
      clearTimeout(late)
      // A server made by hand has to look at the verdict itself.
      const refused = clientCas === undefined ? null : socket.authorizationError
      if (refused || (clientCas !== undefined && !socket.authorized)) {
        socket.destroy(new Error(`The client certificate was refused: ${refused}`))
      }
    })
    socket.once('close', () => clearTimeout(late))
    return asByteStream(socket)
  }
}
