import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { listen } from '../../../test/support/local-server.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createTestCa } from '../../../test/support/test-ca.ts'
import { testSettings } from '../testing/agent.ts'
import { TestGateway } from '../testing/gateway.ts'
import { dialServer } from './dial.ts'
import { locateServers, parseServerAddress } from './location.ts'
import { parseProxy } from './proxy.ts'

const { caPem } = await createTestCa()

const locate = (...args: Parameters<typeof locateServers>) => locateServers(...args)[0]

function dataDir(credentials?: object): { ADIT_DATA_DIR: string } {
  const dir = createTempDir()
  if (credentials) writeFileSync(join(dir, 'credentials.json'), JSON.stringify(credentials))
  writeFileSync(join(dir, 'ca.pem'), caPem)
  return { ADIT_DATA_DIR: dir }
}

test('a server on this machine is located through its credentials file', () => {
  const env = dataDir({ agent_addr: '127.0.0.1:4443', authtoken: 'LOCAL', api_key: 'K' })
  writeFileSync(
    join(env.ADIT_DATA_DIR, 'credentials.json'),
    JSON.stringify({
      agent_addr: '127.0.0.1:4443',
      authtoken: 'LOCAL',
      ca_file: join(env.ADIT_DATA_DIR, 'ca.pem'),
    }),
  )

  const location = locate({}, env)

  assert.deepEqual(
    [location.host, location.port, location.authtoken.reveal(), location.loopback],
    ['127.0.0.1', 4443, 'LOCAL', true],
  )
  assert.deepEqual(location.cas, [caPem])
})

test("the configuration wins, and the local server's token is sent to no other server", () => {
  const env = dataDir({ agent_addr: '127.0.0.1:4443', authtoken: 'LOCAL' })

  assert.equal(locate({ authtoken: 'MINE' }, env).authtoken.reveal(), 'MINE')
  assert.equal(locate({ connect_url: 'localhost:4443' }, env).authtoken.reveal(), 'LOCAL')
  assert.throws(
    () => locate({ connect_url: 'elsewhere.test:443' }, env),
    /No authtoken is configured for the server elsewhere/,
  )
  assert.equal(locate({ connect_url: 'elsewhere.test', authtoken: 'T' }, env).cas, undefined)
})

test('another port of the server on this machine is answered with the address for agents', async (t) => {
  const port = await startProxy(t, (client) => client.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const env = dataDir({ agent_addr: '127.0.0.1:4443', authtoken: 'LOCAL' })
  const location = locate({ connect_url: `localhost:${port}`, authtoken: 'T' }, env)
  const { dial } = testSettings(await TestGateway.start(t))

  await assert.rejects(
    dialServer(location, dial),
    /localhost:\d+ does not speak TLS \(an HTTP port\?\); agents connect to 127\.0\.0\.1:4443 \(save it with: adit config add-connect-url 127\.0\.0\.1:4443\)/,
  )
})

test('several addresses are comma-separated, and each has its own token and authority', () => {
  const env = dataDir({ agent_addr: '127.0.0.1:4443', authtoken: 'LOCAL' })
  const keys = { connect_url: 'one.example.com:4443, [2001:db8::1]:5,127.0.0.1:4443', authtoken: 'T' }

  const locations = locateServers(keys, env)

  assert.deepEqual(
    locations.map(({ host, port, loopback }) => [host, port, loopback]),
    [
      ['one.example.com', 4443, false],
      ['2001:db8::1', 5, false],
      ['127.0.0.1', 4443, true],
    ],
  )
  assert.throws(() => locate({ ...keys, connect_url: 'one.example.com:4443,,two:1' }, env), /use host:port/)
  assert.throws(
    () => locate({ connect_url: '127.0.0.1:4443,two.example.com:1' }, env),
    /No authtoken is configured for the server two.example.com:1/,
  )
})

test('without a configured or running server the error names the next step', () => {
  assert.throws(() => locate({}, dataDir()), /Start one here with:\s+adit server/)
})

test('a broken credentials file is ignored', () => {
  const env = dataDir()
  writeFileSync(join(env.ADIT_DATA_DIR, 'credentials.json'), '{"agent_addr":')

  assert.throws(() => locate({}, env), /none was found/)
})

test('authorities are read from a file, which must contain at least one', () => {
  const env = dataDir()
  const keys = { connect_url: 'a:1', authtoken: 'T' }

  assert.deepEqual(locate({ ...keys, connect_cas: join(env.ADIT_DATA_DIR, 'ca.pem') }, env).cas, [caPem])
  assert.throws(
    () => locate({ ...keys, connect_cas: '/nonexistent' }, env),
    /cannot read the certificate authorities/,
  )
  assert.ok(Array.isArray(locate({ ...keys, connect_cas: 'host' }, env).cas))
})

test('server addresses may have a port, a scheme and IPv6', () => {
  assert.deepEqual(parseServerAddress('tunnel.example.com'), { host: 'tunnel.example.com', port: 443 })
  assert.deepEqual(parseServerAddress('tls://a:99'), { host: 'a', port: 99 })
  assert.deepEqual(parseServerAddress('[::1]:5'), { host: '::1', port: 5 })
  assert.throws(() => parseServerAddress('a b'), /use host:port/)
})

/** A proxy that runs `handshake` with each client and then connects it to the target. */
async function startProxy(
  t: TestContext,
  handshake: (client: Socket, join: (host: string, port: number) => void) => void,
) {
  const server = createServer((client) => {
    client.on('error', () => {})
    handshake(client, (host, port) => {
      const target = connect(port, host)
      target.on('error', () => client.destroy())
      client.pipe(target).pipe(client)
    })
  })
  return listen(t, server)
}

async function dialThrough(
  t: TestContext,
  proxyUrl: (port: number) => string,
  handshake: Parameters<typeof startProxy>[1],
) {
  const gateway = await TestGateway.start(t)
  const port = await startProxy(t, handshake)
  const { location, dial } = testSettings(gateway)
  const socket = await dialServer(location, { ...dial, proxy: parseProxy(proxyUrl(port)) })
  t.after(() => socket.destroy())
  return socket
}

test('the server is reached through an HTTP proxy with a password', async (t) => {
  let head = ''
  const socket = await dialThrough(
    t,
    (port) => `http://me:p%40ss@127.0.0.1:${port}`,
    (client, join) =>
      client.once('data', (chunk) => {
        head = chunk.toString()
        client.write('HTTP/1.1 200 Connection established\r\n\r\n')
        const [host, port] = head.split(' ')[1]!.split(':') as [string, string]
        join(host, Number(port))
      }),
  )

  assert.equal(socket.authorized, true)
  assert.match(head, /^CONNECT localhost:\d+ HTTP\/1\.1\r\n/)
  assert.match(head, new RegExp(`Proxy-Authorization: Basic ${Buffer.from('me:p@ss').toString('base64')}`))
})

test('the server is reached through a SOCKS proxy, which resolves the name', async (t) => {
  const received: Buffer[] = []
  const socket = await dialThrough(
    t,
    (port) => `socks5://me:secret@127.0.0.1:${port}`,
    (client, join) => {
      client.on('data', function step(chunk: Buffer) {
        received.push(chunk)
        if (received.length === 1) client.write(Buffer.from([5, 2]))
        else if (received.length === 2) client.write(Buffer.from([1, 0]))
        else {
          client.off('data', step)
          client.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]))
          const length = chunk[4]!
          join(chunk.toString('latin1', 5, 5 + length), chunk.readUInt16BE(5 + length))
        }
      })
    },
  )

  assert.equal(socket.authorized, true)
  assert.equal(received[1]?.toString('latin1'), '\u0001\u0002me\u0006secret')
})

const REJECTING_PROXIES: [string, (port: number) => string, Buffer | string, RegExp][] = [
  [
    'an HTTP proxy',
    (port) => `http://127.0.0.1:${port}`,
    'HTTP/1.1 403 Forbidden\r\n\r\n',
    /^Error: the proxy 127\.0\.0\.1:\d+ cannot be used: it refused to connect to localhost:\d+ \(HTTP\/1\.1 403 .*check proxy_url/,
  ],
  [
    'a SOCKS proxy',
    (port) => `socks5://127.0.0.1:${port}`,
    Buffer.from([5, 0xff]),
    /^Error: the proxy 127\.0\.0\.1:\d+ cannot be used: it accepts none of the offered authentication methods/,
  ],
]

for (const [title, url, reply, message] of REJECTING_PROXIES) {
  test(`${title} that rejects the connection is named in the error`, async (t) => {
    await assert.rejects(
      dialThrough(t, url, (client) => client.once('data', () => client.end(reply))),
      message,
    )
  })
}

test('a proxy that is down, silent or without TLS is named in the error', async (t) => {
  const gateway = await TestGateway.start(t)
  const { location, dial } = testSettings(gateway)
  const silent = await startProxy(t, () => {})
  const plain = await startProxy(t, (client) => client.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const closedServer = createServer().listen(0, '127.0.0.1')
  await once(closedServer, 'listening')
  const { port } = closedServer.address() as { port: number }
  closedServer.close()
  const dialVia = (url: string) => dialServer(location, { ...dial, proxy: parseProxy(url), timeoutMs: 150 })

  await assert.rejects(
    dialVia(`http://127.0.0.1:${port}`),
    new RegExp(`the proxy 127.0.0.1:${port} cannot be used: nothing listens there .*check proxy_url`),
  )
  await assert.rejects(
    dialVia('http://proxy.invalid:1'),
    /the proxy proxy\.invalid:1 cannot be used: its name/,
  )
  await assert.rejects(
    dialVia(`http://127.0.0.1:${silent}`),
    new RegExp(`the proxy 127.0.0.1:${silent} did not answer`),
  )
  await assert.rejects(dialVia(`https://127.0.0.1:${plain}`), /the proxy .* it does not speak TLS/)
})

test('behind a working proxy the server is named in the error', async (t) => {
  await assert.rejects(
    dialThrough(
      t,
      (port) => `http://127.0.0.1:${port}`,
      (client) => client.once('data', () => client.end('HTTP/1.1 200 OK\r\n\r\nno TLS')),
    ),
    /^Error: localhost:\d+ does not speak TLS|closed during the TLS handshake/,
  )
})

test('an unreadable revocation list is reported with its key', async (t) => {
  const gateway = await TestGateway.start(t)
  const { location, dial } = testSettings(gateway)
  const closedServer = createServer().listen(0, '127.0.0.1')
  await once(closedServer, 'listening')
  const { port } = closedServer.address() as { port: number }
  closedServer.close()
  const rejects = (crl: string, message: RegExp) =>
    assert.rejects(dialServer(location, { ...dial, crl }), message)

  await rejects('/none.pem', /certificate revocation list \/none\.pem: no such file; correct crl_url/)
  await rejects('/', /certificate revocation list \/: it is a directory; correct crl_url/)
  await rejects(`http://127.0.0.1:${port}/a.crl`, /a\.crl: nothing listens there .*correct crl_url/)
})

test('only the requested address family is used', async (t) => {
  const gateway = await TestGateway.start(t)
  const { location, dial } = testSettings(gateway)

  const socket = await dialServer(location, { ...dial, family: 4 })
  t.after(() => socket.destroy())

  assert.equal(socket.remoteFamily, 'IPv4')
  await assert.rejects(dialServer(location, { ...dial, family: 6 }), /nothing listens|cannot be resolved/)
})

test('a server that accepts and stays silent times out', async (t) => {
  const gateway = await TestGateway.start(t)
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  t.after(() => silent.close())
  const { location, dial } = testSettings(gateway)
  const { port } = silent.address() as { port: number }

  await assert.rejects(
    dialServer({ ...location, port }, { ...dial, timeoutMs: 150 }),
    /did not answer with TLS within 0\.15 s/,
  )
})

test('a port that does not speak TLS is reported as such', async (t) => {
  const gateway = await TestGateway.start(t)
  const port = await startProxy(t, (client) => client.end('HTTP/1.1 400 Bad Request\r\n\r\n'))
  const { location, dial } = testSettings(gateway)

  await assert.rejects(dialServer({ ...location, port }, dial), /does not speak TLS|closed/)
})

test('proxy addresses must have a supported scheme', () => {
  assert.throws(() => parseProxy('ftp://a:1'), /proxy_url must be/)
  assert.throws(() => parseProxy('nonsense'), /proxy_url must be/)
})
