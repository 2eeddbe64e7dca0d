import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Deadlines } from '../../base/io/timer-wheel.ts'
import { silentAgentLog } from '../log/log.ts'
import { startRoute, startService, visit } from './testing.ts'

/** Deadlines whose time a test moves, one tick of half a second after the other. */
function movedByHand() {
  const time = { ms: 0 }
  const deadlines = new Deadlines({ now: () => time.ms, monotonic: () => time.ms })
  // The timer would only add to what is moved by hand.
  deadlines.start = () => {}
  const pass = (seconds: number) => {
    for (let ticks = seconds * 2; ticks > 0; ticks--) {
      time.ms += 500
      deadlines.advance()
    }
  }
  return { deadlines, pass }
}

test('a visitor who takes nothing for five minutes is cut, and so is the upstream', async (t) => {
  const { deadlines, pass } = movedByHand()
  const gone = Promise.withResolvers<void>()
  const port = await startService(t, (socket) => {
    socket.on('close', () => gone.resolve())
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n')
    socket.write(Buffer.alloc(1_000_000))
  })
  const { route, captures } = startRoute({ proto: 'http', addr: String(port) }, silentAgentLog, deadlines)
  const visitor = visit(route)
  visitor.room = 1000
  visitor.send('GET / HTTP/1.1\r\n\r\n')
  await visitor.until(() => visitor.room <= 0)

  pass(299)
  assert.equal(visitor.closed, false)
  pass(7)

  assert.match(visitor.error?.message ?? '', /Nothing moved for 5 minutes/)
  await gone.promise
  assert.match(captures.list(1)[0]?.error ?? '', /before the answer was complete/)
})

test('a visitor who takes a little from time to time is left alone', async (t) => {
  const { deadlines, pass } = movedByHand()
  const port = await startService(t, (socket) => {
    socket.on('data', () => socket.write(Buffer.alloc(4_000_000)))
  })
  const { route } = startRoute({ proto: 'tcp', addr: String(port) }, silentAgentLog, deadlines)
  const visitor = visit(route, 'tcp')
  visitor.room = 1000
  visitor.send('all of it')
  await visitor.until(() => visitor.room <= 0)

  for (let times = 0; times < 5; times++) {
    pass(250)
    const before = visitor.received.length
    visitor.drain(1)
    await visitor.until(() => visitor.received.length > before)
  }

  assert.equal(visitor.closed, false)
  visitor.abort()
})

test('an upstream that takes nothing for five minutes is cut', async (t) => {
  const { deadlines, pass } = movedByHand()
  const port = await startService(t, (socket) => socket.pause())
  const { route } = startRoute({ proto: 'tcp', addr: String(port) }, silentAgentLog, deadlines)
  const visitor = visit(route, 'tcp')
  let last = -1
  // As much as a window allows, until the kernel takes no more.
  while (visitor.unconsumed !== last || visitor.unconsumed < 262_144) {
    last = visitor.unconsumed
    if (visitor.unconsumed < 262_144) visitor.send(Buffer.alloc(262_144))
    for (let turns = 0; turns < 20; turns++) await new Promise((resolve) => setImmediate(resolve))
  }

  // Half a minute more: something had still moved when it was first looked at.
  pass(336)

  assert.match(visitor.error?.message ?? '', /Nothing moved for 5 minutes/)
})

test('a stream with nothing to say may be silent for as long as it likes', async (t) => {
  const { deadlines, pass } = movedByHand()
  const port = await startService(t, (socket) => {
    socket.on('data', () => socket.write('hello'))
  })
  const { route } = startRoute({ proto: 'tcp', addr: String(port) }, silentAgentLog, deadlines)
  const visitor = visit(route, 'tcp')
  visitor.room = 3
  visitor.send('hi')
  await visitor.until(() => visitor.text === 'hello')
  visitor.drain(1000)

  pass(3600)
  visitor.send('still there?')
  await visitor.until(() => visitor.text === 'hellohello')

  assert.equal(visitor.closed, false)
  visitor.abort()
})

test('a visitor who takes nothing of a file is cut too', async (t) => {
  const { deadlines, pass } = movedByHand()
  const directory = mkdtempSync(join(tmpdir(), 'adit-files-'))
  t.after(() => rmSync(directory, { recursive: true }))
  writeFileSync(join(directory, 'large'), Buffer.alloc(3_000_000))
  const { route } = startRoute({ proto: 'http', addr: `file://${directory}` }, silentAgentLog, deadlines)
  const visitor = visit(route)
  visitor.room = 1000
  visitor.send('GET /large HTTP/1.1\r\nHost: x\r\n\r\n')
  await visitor.until(() => visitor.room <= 0)

  pass(306)

  await visitor.until(() => visitor.closed)
  assert.match(visitor.error?.message ?? '', /Nothing moved for 5 minutes/)
})
