import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTcp } from '../../../test/support/local-server.ts'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { TimerWheel } from '../../base/io/memory/timer-wheel.ts'
import { silentAgentLog } from '../log/log.ts'
import { createTestRoute, openTestClient } from '../testing/route.ts'

/** A timer wheel that a test advances, one tick of half a second at a time. */
function createManualTimers() {
  const time = { ms: 0 }
  const timers = new TimerWheel({ now: () => time.ms, monotonic: () => time.ms })
  // The real timer would advance the wheel as well.
  timers.start = () => {}
  const advance = (seconds: number) => {
    for (let ticks = seconds * 2; ticks > 0; ticks--) {
      time.ms += 500
      timers.advance()
    }
  }
  return { timers, advance }
}

test('a client that reads nothing for five minutes is aborted, and so is its upstream', async (t) => {
  const { timers, advance } = createManualTimers()
  const upstreamClosed = Promise.withResolvers<void>()
  const port = await startTcp(t, (socket) => {
    socket.on('close', () => upstreamClosed.resolve())
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n')
    socket.write(Buffer.alloc(1_000_000))
  })
  const { route, captures } = createTestRoute({ proto: 'http', addr: String(port) }, silentAgentLog, timers)
  const client = openTestClient(route)
  client.window = 1000
  client.send('GET / HTTP/1.1\r\n\r\n')
  await client.until(() => client.window <= 0)

  advance(299)
  assert.equal(client.closed, false)
  advance(7)

  assert.match(client.error?.message ?? '', /no progress for 5 minutes/)
  await upstreamClosed.promise
  assert.match(captures.list(1)[0]?.error ?? '', /before the response was complete/)
})

test('a client that reads slowly is not aborted', async (t) => {
  const { timers, advance } = createManualTimers()
  const port = await startTcp(t, (socket) => {
    socket.on('data', () => socket.write(Buffer.alloc(4_000_000)))
  })
  const { route } = createTestRoute({ proto: 'tcp', addr: String(port) }, silentAgentLog, timers)
  const client = openTestClient(route, 'tcp')
  client.window = 1000
  client.send('all of it')
  await client.until(() => client.window <= 0)

  for (let round = 0; round < 5; round++) {
    advance(250)
    const receivedBytes = client.received.length
    client.drain(1)
    await client.until(() => client.received.length > receivedBytes)
  }

  assert.equal(client.closed, false)
  client.abort()
})

test('an upstream that reads nothing for five minutes is aborted', async (t) => {
  const { timers, advance } = createManualTimers()
  const port = await startTcp(t, (socket) => socket.pause())
  const { route } = createTestRoute({ proto: 'tcp', addr: String(port) }, silentAgentLog, timers)
  const client = openTestClient(route, 'tcp')
  let last = -1
  // As much as the window allows, until the kernel accepts no more.
  while (client.unconsumed !== last || client.unconsumed < 262_144) {
    last = client.unconsumed
    if (client.unconsumed < 262_144) client.send(Buffer.alloc(262_144))
    for (let ticks = 0; ticks < 20; ticks++) await new Promise((resolve) => setImmediate(resolve))
  }

  // One check interval more: the first check still saw progress.
  advance(336)

  assert.match(client.error?.message ?? '', /no progress for 5 minutes/)
})

test('an idle stream is never aborted', async (t) => {
  const { timers, advance } = createManualTimers()
  const port = await startTcp(t, (socket) => {
    socket.on('data', () => socket.write('hello'))
  })
  const { route } = createTestRoute({ proto: 'tcp', addr: String(port) }, silentAgentLog, timers)
  const client = openTestClient(route, 'tcp')
  client.window = 3
  client.send('hi')
  await client.until(() => client.text === 'hello')
  client.drain(1000)

  advance(3600)
  client.send('still there?')
  await client.until(() => client.text === 'hellohello')

  assert.equal(client.closed, false)
  client.abort()
})

test('a client that reads nothing of a file is aborted too', async () => {
  const { timers, advance } = createManualTimers()
  const directory = createTempDir()
  writeFileSync(join(directory, 'large'), Buffer.alloc(3_000_000))
  const { route } = createTestRoute({ proto: 'http', addr: `file://${directory}` }, silentAgentLog, timers)
  const client = openTestClient(route)
  client.window = 1000
  client.send('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')
  await client.until(() => client.window <= 0)

  advance(306)

  await client.until(() => client.closed)
  assert.match(client.error?.message ?? '', /no progress for 5 minutes/)
})
