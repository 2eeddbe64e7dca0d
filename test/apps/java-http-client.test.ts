import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { WebSocketServer } from 'ws'
import { listen } from '../support/local-server.ts'
import { missingPrograms } from '../support/required-programs.ts'
import { createNoise } from './noise.ts'
import { assertSameUse } from './same-use.ts'

const film = createNoise(20_000_000)

/** A service with downloads whole and cut, uploads, redirects, statuses and a WebSocket. */
function createService() {
  const server = createServer(async (request, response) => {
    const { pathname } = new URL(request.url!, 'http://service')
    const hash = createHash('sha256')
    for await (const chunk of request) hash.update(chunk)
    if (pathname === '/upload') response.end(hash.digest('hex'))
    else if (pathname === '/moved') response.writeHead(302, { location: '/film' }).end()
    else if (pathname === '/film') response.writeHead(200, { 'content-length': film.length }).end(film)
    else if (pathname === '/chunked') response.end(film.subarray(0, 3_000_000))
    else if (pathname === '/early')
      response.writeEarlyHints({ link: '</style.css>; rel=preload' }, () => response.end('late'))
    else if (pathname.startsWith('/status/')) response.writeHead(Number(pathname.slice(8))).end()
    else if (pathname.startsWith('/cut/')) {
      if (pathname !== '/cut/chunked') response.setHeader('content-length', film.length)
      response.write(film.subarray(0, 1_000_000), () => response.socket?.resetAndDestroy())
    } else
      response.writeHead(200, { 'x-method': request.method }).end(`${pathname} ${request.headers['x-text']}`)
  })
  new WebSocketServer({ server }).on('connection', (socket) =>
    socket.on('message', (data, isBinary) => socket.send(data, { binary: isBinary })),
  )
  return server
}

for (const version of ['HTTP_1_1', 'HTTP_2'])
  test(`Java's HTTP client, ${version}: requests of all kinds, transfers whole and cut, and a WebSocket`, {
    skip: missingPrograms('java'),
  }, async (t) => {
    const seen = await assertSameUse(
      t,
      () => listen(t, createService()),
      async ({ url, dir, rootsFile, run }) => {
        const store = join(dir, 'roots.p12')
        const password = 'changeit'
        // The last certificate is the platform's; keytool reads one.
        await run(['sh', '-c', `tac "$0" | sed '/BEGIN/q' | tac > root.pem`, rootsFile])
        const options = [
          '-importcert',
          '-noprompt',
          '-alias',
          'adit',
          '-file',
          'root.pem',
          '-keystore',
          store,
        ]
        await run(['keytool', ...options, '-storepass', password])
        const trust = { trustStore: store, trustStorePassword: password }
        const flags = Object.entries(trust).map(([name, value]) => `-Djavax.net.ssl.${name}=${value}`)
        const program = join(import.meta.dirname, 'programs', 'Client.java')
        // Without TLS the client asks for an upgrade to HTTP/2, which services with a WebSocket take for a wrong one.
        return run(['java', ...flags, program, url, url.startsWith('https:') ? version : 'HTTP_1_1'])
      },
    )
    if (seen === undefined) return
    assert.match(seen, /film [0-9a-f]{64}/)
    assert.doesNotMatch(seen, /cut \S+ complete/)
  })
