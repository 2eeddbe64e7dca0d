import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { connect as connectTls, createSecureContext, TLSSocket } from 'node:tls'
import { WebSocket, WebSocketServer } from 'ws'
import { eventually } from '../support/eventually.ts'
import { startHttp } from '../support/local-server.ts'
import { startPlatform, type TestPlatform } from '../support/platform.ts'
import { createTestCa } from '../support/test-ca.ts'
import { createIdentity, openSshSkipReason, readUrl, type SshClient, startSsh, startTcp } from './openssh.ts'

const skip = openSshSkipReason

/** Bytes transferred in each direction by the bulk test. */
const BULK_BYTES = 100 * 1024 * 1024

/** Not a multiple of any packet size, so that no two packets carry the same bytes. */
const BLOCK_BYTES = 1_048_573

async function startWithIdentity(t: TestContext) {
  const platform = await startPlatform(t)
  return { platform, identity: await createIdentity(platform) }
}

function dial(url: string): Promise<Socket> {
  const { port } = new URL(url.replace('tcp:', 'http:'))
  const socket = connect({ port: Number(port), host: '127.0.0.1', allowHalfOpen: true })
  return once(socket, 'connect').then(() => socket)
}

test('-R 80 opens an HTTP endpoint with a random name and prints its requests', { skip }, async (t) => {
  const { platform, identity } = await startWithIdentity(t)
  const port = await startHttp(t, (request, response) => response.end(`hello ${request.url}`))

  const client = startSsh(t, platform, identity, ['-R', `80:127.0.0.1:${port}`])
  const url = await readUrl(client)
  const response = await platform.fetch(`${url}/a?b=1`)

  assert.match(url, /^http:\/\/[a-z0-9-]+\.adit\.localhost:\d+$/)
  assert.equal(await response.text(), 'hello /a?b=1')
  await client.waitForOutput(/GET \/a\?b=1 {2}200 {2}\d+ ms {2}127\.0\.0\.1/)
})

test('-R name:80 and -R name.domain:443 open those names, several in one connection', { skip }, async (t) => {
  const { platform, identity } = await startWithIdentity(t)
  const port = await startHttp(t, (request, response) => response.end(String(request.headers.host)))

  const client = startSsh(t, platform, identity, [
    ...['-R', `shop:80:127.0.0.1:${port}`],
    ...['-R', `store.adit.localhost:443:127.0.0.1:${port}`],
    ...['-R', `443:127.0.0.1:${port}`],
  ])
  await client.waitForOutput(/(:\/\/.*){3}/s)
  const urls = client
    .output()
    .match(/https?:\/\/\S+/g)!
    .sort()
  const hosts = await Promise.all(urls.map(async (url) => (await platform.fetch(url)).text()))

  assert.match(urls[0]!, /^http:\/\/shop\.adit\.localhost:/)
  assert.equal(urls.filter((url) => url.startsWith('https://store.adit.localhost:')).length, 1)
  assert.deepEqual(
    hosts,
    urls.map((url) => new URL(url).host),
  )
})

test('-R 0 opens any TCP port and transfers bulk data in both directions, byte for byte', {
  skip,
}, async (t) => {
  const { platform, identity } = await startWithIdentity(t)
  const downloadHash = createHash('sha256')
  const uploadHash = createHash('sha256')
  const block = randomBytes(BLOCK_BYTES)
  let uploadDigest = ''
  const port = await startTcp(t, (socket) => {
    void send(socket, block, BULK_BYTES, downloadHash)
    socket.on('data', (chunk) => uploadHash.update(chunk))
    socket.on('end', () => {
      uploadDigest = uploadHash.digest('hex')
    })
  })

  // Rekeys every few megabytes, so that the test covers data in flight during a key exchange.
  const flags = ['-o', 'RekeyLimit=5M', '-R', `0:127.0.0.1:${port}`]
  const client = startSsh(t, platform, identity, flags, ['tcp', String(port)])
  const url = await readUrl(client, 'tcp')
  const connection = await dial(url)
  const receivedHash = createHash('sha256')
  const sentHash = createHash('sha256')
  connection.on('data', (chunk) => receivedHash.update(chunk))
  await Promise.all([send(connection, block, BULK_BYTES, sentHash), once(connection, 'end')])
  // The last uploaded bytes may still be on their way when the visitor's connection is closed.
  await eventually(() => uploadDigest !== '', 'the end of the upload')

  assert.equal(receivedHash.digest('hex'), downloadHash.digest('hex'))
  assert.equal(uploadDigest, sentHash.digest('hex'))
})

test('half-close is forwarded: the response to a half-closed request arrives completely', {
  skip,
}, async (t) => {
  const { platform, identity } = await startWithIdentity(t)
  const port = await startTcp(t, (socket) => {
    const requestChunks: Buffer[] = []
    socket.on('data', (chunk: Buffer) => requestChunks.push(chunk))
    socket.on('end', () =>
      socket.end(`${Buffer.concat(requestChunks)}, and the answer ${'!'.repeat(300_000)}`),
    )
  })
  const client = startSsh(t, platform, identity, ['-R', `0:127.0.0.1:${port}`])
  const connection = await dial(await readUrl(client, 'tcp'))

  connection.end('a question')
  const responseChunks: Buffer[] = []
  connection.on('data', (chunk: Buffer) => responseChunks.push(chunk))
  await once(connection, 'end')

  assert.equal(Buffer.concat(responseChunks).toString(), `a question, and the answer ${'!'.repeat(300_000)}`)
})

test('clients and services that do not read do not block other connections', {
  skip,
}, async (t) => {
  const { platform, identity } = await startWithIdentity(t)
  const block = randomBytes(64 * 1024)
  const endlessPort = await startTcp(t, (socket) => {
    const fill = () => {
      while (socket.write(block));
    }
    socket.on('drain', fill)
    fill()
  })
  const stalledPort = await startTcp(t, (socket) => socket.pause())
  const client = startSsh(t, platform, identity, [
    ...['-R', `0:127.0.0.1:${endlessPort}`, '-R', `0:127.0.0.1:${stalledPort}`],
  ])
  await client.waitForOutput(/(:\/\/.*){2}/s)
  const [first = '', second = ''] = client.output().match(/tcp:\/\/\S+/g)!
  const stalledReaders = await Promise.all(Array.from({ length: 20 }, () => dial(first)))
  const writers = await Promise.all(Array.from({ length: 20 }, () => dial(second)))
  const fill = (socket: Socket) => {
    while (socket.write(block));
  }
  for (const socket of writers) {
    socket.on('drain', () => fill(socket))
    fill(socket)
  }

  const connection = await dial(first)
  let receivedBytes = 0
  for await (const chunk of connection) {
    receivedBytes += (chunk as Buffer).length
    if (receivedBytes > 8 * 1024 * 1024) break
  }
  const areBlocked = () => writers.every((socket) => socket.writableNeedDrain)
  await eventually(areBlocked, 'the writers are blocked by back-pressure')
  for (const socket of [...stalledReaders, ...writers]) socket.destroy()
  // Otherwise the stopping platform would wait for connections in flight.
  client.process.kill('SIGKILL')

  assert.ok(receivedBytes > 8 * 1024 * 1024)
})

test('an unreachable service is an error for the client, not an empty response', { skip }, async (t) => {
  const { platform, identity } = await startWithIdentity(t)
  const client = startSsh(t, platform, identity, ['-R', '80:127.0.0.1:1', '-R', '0:127.0.0.1:1'])
  await client.waitForOutput(/(:\/\/.*){2}/s)
  const [http = '', tcp = ''] = client
    .output()
    .match(/(http|tcp):\/\/\S+/g)!
    .sort()

  const response = await platform.fetch(http)
  // A reset may be as fast as the connection itself.
  const outcome = await dial(tcp)
    .then((connection) => once(connection, 'end'))
    .then(
      () => 'clean',
      ({ code }) => code,
    )

  assert.equal(response.status, 502)
  assert.equal(outcome, 'ECONNRESET')
})

test('a forward can bind a reserved TCP address, and no unreserved one', { skip }, async (t) => {
  const { platform, identity } = await startWithIdentity(t)
  const { addr } = await platform.call.create('/reserved_addrs', {})
  const port = await startTcp(t, (socket) => socket.end('reserved'))

  const client = startSsh(t, platform, identity, ['-R', `${addr}:127.0.0.1:${port}`])
  const url = await readUrl(client, 'tcp')
  const connection = await dial(url)
  const [data] = await once(connection, 'data')
  connection.destroy()
  const other = startSsh(t, platform, identity, ['-R', `20999:127.0.0.1:${port}`])
  await other.waitForOutput(/20999 was rejected: .*not reserved/)

  assert.equal(url, `tcp://${addr}`)
  assert.equal(String(data), 'reserved')
  assert.equal(await other.waitForExit(), 1)
})

test('the tls command passes TLS through to the service', { skip }, async (t) => {
  const { platform, identity } = await startWithIdentity(t)
  const ca = await createTestCa()
  const secureContext = createSecureContext(await ca.issue('vault.adit.localhost'))
  const port = await startTcp(t, (socket) => {
    new TLSSocket(socket, { isServer: true, secureContext }).end('from the vault')
  })

  const client = startSsh(t, platform, identity, ['-R', `vault:443:127.0.0.1:${port}`], ['tls'])
  const url = await readUrl(client, 'tls')
  const connection = connectTls({
    host: '127.0.0.1',
    port: Number(new URL(url.replace('tls:', 'https:')).port),
    servername: 'vault.adit.localhost',
    ca: ca.caPem,
  })
  const [data] = await once(connection, 'data')

  assert.equal(String(data), 'from the vault')
})

test('WebSockets are forwarded', { skip }, async (t) => {
  const { platform, identity } = await startWithIdentity(t)
  const echo = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(echo, 'listening')
  t.after(() => echo.close())
  echo.on('connection', (socket) => socket.on('message', (message) => socket.send(`echo ${message}`)))
  const { port: echoPort } = echo.address() as { port: number }

  const client = startSsh(t, platform, identity, ['-R', `80:127.0.0.1:${echoPort}`])
  const url = new URL(await readUrl(client))
  const connection = new WebSocket(`ws://127.0.0.1:${url.port}/`, { headers: { host: url.host } })
  await once(connection, 'open')
  connection.send('hello')
  const [message] = await once(connection, 'message')
  connection.terminate()

  assert.equal(String(message), 'echo hello')
})

test('a forward with labels joins a tunnel group, and the edge of the group reaches the service', {
  skip,
}, async (t) => {
  const { platform, identity } = await startWithIdentity(t)
  const port = await startHttp(t, (_request, response) => response.end('through the edge'))
  const group = await createGroupEdge(platform)

  const client = startSsh(
    t,
    platform,
    identity,
    ['-R', `80:127.0.0.1:${port}`],
    ['http', '--label', 'app=shop'],
  )
  await client.waitForOutput(/app=shop -> ssh/)
  const [tunnel] = (await platform.call('GET', '/tunnels')).body.tunnels
  const response = await platform.fetch(`${group}/`)

  assert.deepEqual(tunnel.labels, { app: 'shop' })
  assert.equal(await response.text(), 'through the edge')
  await client.waitForOutput(/GET \/ {2}200 {2}\d+ ms {2}127\.0\.0\.1/)
})

test('each terminal of a tunnel group prints the requests of its own tunnel', {
  skip,
}, async (t) => {
  const { platform, identity } = await startWithIdentity(t)
  const group = await createGroupEdge(platform)
  const clients: SshClient[] = []
  for (const name of ['one', 'two']) {
    const port = await startHttp(t, (_request, response) => response.end(name))
    const command = ['http', '--label', 'app=shop', '--output', 'json']
    const client = startSsh(t, platform, identity, ['-R', `80:127.0.0.1:${port}`], command)
    await client.waitForOutput(/"event":"tunnel"/)
    clients.push(client)
  }

  const bodies: string[] = []
  for (let n = 0; n < 4; n++) bodies.push(await (await platform.fetch(`${group}/${n}`)).text())

  for (const [index, name] of ['one', 'two'].entries()) {
    const ownPaths = bodies.flatMap((body, n) => (body === name ? [`/${n}`] : []))
    const listShownPaths = () => events(clients[index]!.output(), 'request').map(({ path }) => path)
    await eventually(() => listShownPaths().length >= ownPaths.length, 'the requests are shown')
    const [tunnel] = events(clients[index]!.output(), 'tunnel')

    assert.equal(ownPaths.length, 2)
    assert.deepEqual(listShownPaths(), ownPaths)
    assert.ok(events(clients[index]!.output(), 'request').every(({ tunnel_id }) => tunnel_id === tunnel?.id))
  }
})

function events(output: string, kind: string): Record<string, string>[] {
  const lines = output.split('\n').filter((line) => line.startsWith('{') && line.endsWith('}'))
  return lines.map((line) => JSON.parse(line)).filter(({ event }) => event === kind)
}

/** Creates an HTTPS edge for the tunnels with the label app=shop and returns its URL. */
async function createGroupEdge(platform: TestPlatform): Promise<string> {
  await platform.call.create('/reserved_domains', { domain: 'group.adit.localhost' })
  const backend = await platform.call.create('/backends/tunnel_group', { labels: { app: 'shop' } })
  const edge = await platform.call.create('/edges/https', { hostports: ['group.adit.localhost:443'] })
  await platform.call.create(`/edges/https/${edge.id}/routes`, {
    match_type: 'path_prefix',
    match: '/',
    backend: { enabled: true, backend_id: backend.id },
  })
  return `https://group.adit.localhost:${new URL(platform.credentials.https_url).port}`
}

test('-N works without a terminal, and OpenSSH learns the allocated port', { skip }, async (t) => {
  const { platform, identity } = await startWithIdentity(t)
  const port = await startTcp(t, (socket) => socket.end('quiet'))

  const client = startSsh(t, platform, identity, ['-N', '-R', `0:127.0.0.1:${port}`])
  const [, allocated] = await client.waitForOutput(/Allocated port (\d+)/)
  const connection = await dial(`tcp://localhost:${allocated}`)
  const [data] = await once(connection, 'data')
  connection.destroy()

  assert.equal(String(data), 'quiet')
})

/** Writes this many bytes, respecting back-pressure, then half-closes. */
async function send(socket: Socket, block: Buffer, bytes: number, hash: ReturnType<typeof createHash>) {
  for (let sentBytes = 0; sentBytes < bytes; sentBytes += block.length) {
    hash.update(block)
    if (!socket.write(block)) await once(socket, 'drain')
  }
  socket.end()
}
