import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Deadlines } from '../../base/io/timer-wheel.ts'
import { silentAgentLog } from '../log/log.ts'
import { createTestRoute, openTestClient, startService } from './testing.ts'

/** Deadlines whose time a test moves, one tick of half a second after the other. */
function createManualTimers() {
  const time = { ms: 0 }
  const timers = new Deadlines({ now: () => time.ms, monotonic: () => time.ms })
  // The timer would only add to what is moved by hand.
  timers.start = () => {}
  const advance = (seconds: number) => {
    for (let ticks = seconds * 2; ticks > 0; ticks--) {
      time.ms += 500
      timers.advance()
    }
  }
  return { timers, advance }
}

test('a client who takes nothing for five minutes is cut, and so is the upstream', async (t) => {
  const { timers, advance } = createManualTimers()
  const upstreamClosed = Promise.withResolvers<void>()
  const port = await startService(t, (socket) => {
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

  assert.match(client.error?.message ?? '', /Nothing moved for 5 minutes/)
  await upstreamClosed.promise
  assert.match(captures.list(1)[0]?.error ?? '', /before the answer was complete/)
})

test('a client who takes a little from time to time is left alone', async (t) => {
  const { timers, advance } = createManualTimers()
  const port = await startService(t, (socket) => {
    socket.on('data', () => socket.write(Buffer.alloc(4_000_000)))
  })
  const { route } = createTestRoute({ proto: 'tcp', addr: String(port) }, silentAgentLog, timers)
  const client = openTestClient(route, 'tcp')
  client.window = 1000
  client.send('all of it')
  await client.until(() => client.window <= 0)

  for (let round = 0; round < 5; round++) {
    advance(250)
    const before = client.received.length
    client.drain(1)
    await client.until(() => client.received.length > before)
  }

  assert.equal(client.closed, false)
  client.abort()
})

test('an upstream that takes nothing for five minutes is cut', async (t) => {
  const { timers, advance } = createManualTimers()
  const port = await startService(t, (socket) => socket.pause())
  const { route } = createTestRoute({ proto: 'tcp', addr: String(port) }, silentAgentLog, timers)
  const client = openTestClient(route, 'tcp')
  let last = -1
  // As much as a window allows, until the kernel takes no more.
  while (client.unconsumed !== last || client.unconsumed < 262_144) {
    last = client.unconsumed
    if (client.unconsumed < 262_144) client.send(Buffer.alloc(262_144))
    for (let ticks = 0; ticks < 20; ticks++) await new Promise((resolve) => setImmediate(resolve))
  }

  // Half a minute more: something had still moved when it was first looked at.
  advance(336)

  assert.match(client.error?.message ?? '', /Nothing moved for 5 minutes/)
})

test('a stream with nothing to say may be silent for as long as it likes', async (t) => {
  const { timers, advance } = createManualTimers()
  const port = await startService(t, (socket) => {
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

test('a client who takes nothing of a file is cut too', async (t) => {
  const { timers, advance } = createManualTimers()
  const directory = mkdtempSync(join(tmpdir(), 'adit-files-'))
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'large'), Buffer.alloc(3_000_000))
  const { route } = createTestRoute({ proto: 'http', addr: `file://${directory}` }, silentAgentLog, timers)
  const client = openTestClient(route)
  client.window = 1000
  client.send('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')
  await client.until(() => client.window <= 0)

  advance(306)

  await client.until(() => client.closed)
  assert.match(client.error?.message ?? '', /Nothing moved for 5 minutes/)
})
