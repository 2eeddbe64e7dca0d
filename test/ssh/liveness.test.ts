import assert from 'node:assert/strict'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { test } from 'node:test'
import { ConcurrencyLimiter } from '../../src/base/io/sockets/concurrency-limiter.ts'
import { eventually } from '../support/eventually.ts'
import { platformAt, startGateway } from './gateway.ts'
import { openSshSkipReason, readUrl, startSsh } from './openssh.ts'

const skip = openSshSkipReason

test('a stopped client loses its name after the silence limit', { skip }, async (t) => {
  const { registry, port, keyFile } = await startGateway(t)
  const client = startSsh(t, platformAt(port), { keyFile }, ['-R', 'mine:80:127.0.0.1:9'])
  await readUrl(client)

  client.process.kill('SIGSTOP')
  await eventually(
    () => registry.directory.atHost('http', 'mine.adit.test')?.current === undefined,
    'the name is free',
  )
})

test('a blackholed link releases the name as well', { skip }, async (t) => {
  const { registry, port, keyFile } = await startGateway(t)
  const sockets: Socket[] = []
  const relay = createServer((client) => {
    const upstream = connect(port, '127.0.0.1')
    sockets.push(client, upstream)
    for (const socket of [client, upstream]) socket.on('error', () => {})
    client.pipe(upstream)
    upstream.pipe(client)
  }).listen(0, '127.0.0.1')
  await once(relay, 'listening')
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    relay.close()
  })
  const platform = platformAt((relay.address() as AddressInfo).port)
  const client = startSsh(t, platform, { keyFile }, ['-R', 'mine:80:127.0.0.1:9'])
  await readUrl(client)

  for (const socket of sockets) {
    socket.unpipe()
    socket.pause()
  }
  await eventually(
    () => registry.directory.atHost('http', 'mine.adit.test')?.current === undefined,
    'the name is free',
  )

  assert.equal(registry.sessionsOf('ac_1').length, 0)
})

test('a responsive client with an idle tunnel stays connected', { skip }, async (t) => {
  const { registry, port, keyFile } = await startGateway(t)
  const flags = ['-o', 'LogLevel=DEBUG1', '-R', 'mine:80:127.0.0.1:9']
  const client = startSsh(t, platformAt(port), { keyFile }, flags)
  await readUrl(client)
  const [session] = registry.sessionsOf('ac_1')

  // Ten keepalives take longer than several silences.
  await eventually(() => client.output().split('rtype keepalive').length > 10, 'ten keepalives')

  assert.equal(registry.sessionsOf('ac_1')[0], session)
})

test('a connection that does not log in is closed after the login timeout', async (t) => {
  const { gateway, port } = await startGateway(t, { limits: { loginTimeoutMs: 100 } })
  const socket = connect(port, '127.0.0.1')
  socket.resume()
  await once(socket, 'connect')

  await once(socket, 'close')

  await eventually(() => gateway.connections === 0, 'the gateway has forgotten it')
})

test('an account at its session limit is rejected with the reason, and admitted when a session has ended', {
  skip,
}, async (t) => {
  const sessions = new ConcurrencyLimiter({ total: 2 })
  const release = sessions.acquire('ac_1')
  const { registry, gateway, port, keyFile } = await startGateway(t, { sessions })

  // More often than a client address may fail: this is not a failed login.
  for (let count = 0; count < 5; count++) {
    const rejectedClient = startSsh(t, platformAt(port), { keyFile }, ['-R', 'mine:80:127.0.0.1:9'])
    await rejectedClient.waitForOutput(/as many sessions of agents and SSH clients[\s\S]*ERR_ADIT_108/)
    await rejectedClient.waitForExit()
  }
  const sessionsBefore = registry.sessionsOf('ac_1').length
  release!()
  const admittedClient = startSsh(t, platformAt(port), { keyFile }, ['-R', 'mine:80:127.0.0.1:9'])
  await readUrl(admittedClient)
  const isCounted = sessions.has('ac_1')
  admittedClient.process.kill('SIGKILL')
  await eventually(() => gateway.connections === 0, 'the client is gone')

  assert.equal(sessionsBefore, 0)
  assert.equal(isCounted, true)
  await eventually(() => !sessions.has('ac_1'), 'its slot is free')
})

test('stopping the gateway disconnects clients with the reason', { skip }, async (t) => {
  const { registry, gateway, port, keyFile } = await startGateway(t)
  const client = startSsh(t, platformAt(port), { keyFile }, ['-R', 'mine:80:127.0.0.1:9'])
  await readUrl(client)

  await gateway.close()

  assert.equal(await client.waitForExit(), 1)
  assert.match(client.output(), /The server is shutting down/)
  assert.equal(registry.directory.atHost('http', 'mine.adit.test')?.current, undefined)
})

test('clients that have not been accepted when the gateway stops are ended in order', async (t) => {
  const { gateway, port } = await startGateway(t)
  const clients = Array.from({ length: 8 }, () => connect(port, '127.0.0.1'))
  const ends = clients.map(async (client) => {
    const [greeting] = await once(client, 'data')
    await once(client.resume(), 'end')
    client.destroy()
    return String(greeting).slice(0, 8)
  })

  await gateway.close()

  assert.deepEqual(await Promise.all(ends), Array(8).fill('SSH-2.0-'))
})
