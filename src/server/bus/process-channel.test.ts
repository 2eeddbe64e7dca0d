import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { eventually } from '../../../test/support/eventually.ts'
import { listen } from '../../../test/support/local-server.ts'
import { startProcess } from '../../base/process/start-process.ts'
import { ProcessChannel } from './process-channel.ts'
import type { OtherProcess } from './testing/other-process.ts'

async function startOther(t: TestContext, onMissed: () => void = () => {}) {
  const child = startProcess(new URL('./testing/other-process.ts', import.meta.url))
  const channel = new ProcessChannel<OtherProcess>(child, { methods: {}, passesListeners: true, onMissed })
  t.after(() => child.kill('SIGKILL'))
  assert.equal(await channel.call('add', 0, 0), 0)
  return { child, channel }
}

test('calls of one turn are one message, and each gets its own result', async (t) => {
  const { child, channel } = await startOther(t)
  const messages: unknown[][] = []
  child.on('message', (message: unknown[]) => messages.push(message))

  const results = await Promise.allSettled([
    channel.call('add', 1, 2),
    channel.call('fail'),
    channel.call('add', 3, 4),
  ])

  assert.deepEqual(
    results.map((result) => (result.status === 'fulfilled' ? result.value : result.reason.message)),
    [3, 'It cannot be done.', 7],
  )
  assert.deepEqual(
    messages.map(({ length }) => length),
    [3],
  )
})

test('a socket and a listener are passed on', async (t) => {
  const { channel } = await startOther(t)
  const port = await listen(
    t,
    createServer({ pauseOnConnect: true }, (socket) => channel.handOver('greet', socket)),
  )
  assert.equal(await text(connect(port, '127.0.0.1')), 'hello\n')

  const listener: Server = await channel.call('listener')
  const { port: passed } = listener.address() as AddressInfo
  await new Promise((resolve) => listener.close(resolve))
  assert.equal(await text(connect(passed, '127.0.0.1')), 'from the other process\n')
})

test('a process that is stopped misses what is published, and is told again what holds once it goes on', async (t) => {
  let missed = 0
  const { child, channel } = await startOther(t, () => missed++)
  const ip = '192.0.2.1'.padEnd(1000)
  const publish = async (topic: 'loginFailed' | 'holders', times: number) => {
    for (let turn = 0; turn < times; turn++) {
      if (topic === 'holders') channel.publish(topic, { limit: ip, counts: [] }, 2)
      else channel.publish(topic, { gateway: 'ssh', ip }, 2)
      await new Promise(setImmediate)
    }
  }
  child.kill('SIGSTOP')
  await publish('loginFailed', 5000)
  child.kill('SIGCONT')
  await eventually(async () => ((await channel.call('received')).counts.loginFailed ?? 0) > 0)
  const { counts, sender } = await channel.call('received')
  assert.ok(counts.loginFailed! < 2500, `${counts.loginFailed} were kept for it`)
  assert.deepEqual([sender, missed], [2, 0])

  child.kill('SIGSTOP')
  await publish('holders', 5000)
  child.kill('SIGCONT')
  await eventually(() => missed === 1)
  await publish('holders', 1)
  await channel.call('received')
  assert.equal(missed, 1)
})

test('calls of a process that does not reply are limited, and fail when it ends', async (t) => {
  const { child, channel } = await startOther(t)
  child.kill('SIGSTOP')
  const calls = Array.from({ length: 10_000 }, () => channel.call('add', 1, 1))
  const outcomes = Promise.allSettled(calls)
  await assert.rejects(channel.call('add', 1, 1), /does not reply/)

  child.kill('SIGKILL')
  await once(child, 'exit')
  channel.end()
  const reasons = (await outcomes).map((each) => each.status === 'rejected' && each.reason.message)
  assert.deepEqual([...new Set(reasons)], ['The process has exited.'])
})
