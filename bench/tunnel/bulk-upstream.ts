import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createSecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * Bodies without end as a process of its own: `node bulk-upstream.ts <HTTP/1.1 port> <HTTP/2 port>`. `GET /down` sends until the
 * client goes away, every other request is read and answered with a small body. Answers each message of its parent with the
 * number of body bytes received so far.
 */
const CHUNK = Buffer.alloc(256 * 1024, 'x')
/** Enough for a fast link, so that the windows of the tunnel and not of the upstream are measured. */
const WINDOW_BYTES = 64 * 1024 * 1024
let receivedBytes = 0

const [http, http2] = process.argv.slice(2).map(Number) as [number, number]
createServer(answer).listen(http, '127.0.0.1')
const settings = { initialWindowSize: WINDOW_BYTES, maxFrameSize: CHUNK.length }
createSecureServer({ ...createCertificate(), settings }, answer)
  .on('session', (session) => session.setLocalWindowSize(WINDOW_BYTES))
  .listen(http2, '127.0.0.1', () => console.log('listening'))
process.on('message', () => process.send?.(receivedBytes))

function answer(
  request: IncomingMessage | Http2ServerRequest,
  response: ServerResponse | Http2ServerResponse,
): void {
  request.on('error', () => {})
  response.on('error', () => {})
  if (request.url === '/down') {
    sendForever(response)
    return
  }
  request.on('data', (chunk: Buffer) => {
    receivedBytes += chunk.length
  })
  request.on('end', () => response.end('received'))
}

function sendForever(response: ServerResponse | Http2ServerResponse): void {
  // The two kinds of response have the same methods, but no common type.
  const body = response as ServerResponse
  const send = (): void => {
    while (!body.destroyed && body.write(CHUNK));
  }
  body.on('drain', send)
  send()
}

function createCertificate(): { key: Buffer; cert: Buffer } {
  const dir = mkdtempSync(join(tmpdir(), 'adit-bench-cert-'))
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')]
  const subject = ['-subj', '/CN=localhost', '-days', '2', '-nodes']
  execFileSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:P-256',
      ...subject,
      '-keyout',
      key,
      '-out',
      cert,
    ],
    { stdio: 'ignore' },
  )
  try {
    return { key: readFileSync(key), cert: readFileSync(cert) }
  } finally {
    rmSync(dir, { recursive: true })
  }
}
