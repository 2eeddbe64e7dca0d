import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../../test/support/random.ts'
import { Backoff, maxDelay } from './backoff.ts'

const AGENTS = 1000
const DEADLINE_MS = 10_000

/** The outcome of an attempt started at a given time: when it settles and whether it succeeded. */
type Server = (startedMs: number) => { readonly settledMs: number; readonly online: boolean }

/** When each agent is online again after all lost their session at time 0; attempts run in order of time. */
function reconnect(server: Server, count = AGENTS): number[] {
  const random = createRandom(1)
  const agents = Array.from({ length: count }, () => {
    const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms }
    const backoff = new Backoff({ clock, random: () => random.below(1_000_000) / 1_000_000 })
    return { clock, backoff, dueMs: backoff.next() }
  })
  const online: number[] = []
  while (agents.length > 0) {
    const agent = agents.reduce((a, b) => (a.dueMs <= b.dueMs ? a : b))
    const { settledMs, online: succeeded } = server(agent.dueMs)
    if (succeeded) {
      online.push(settledMs)
      agents.splice(agents.indexOf(agent), 1)
    } else {
      agent.clock.ms = settledMs
      agent.dueMs = settledMs + agent.backoff.next(settledMs - agent.dueMs)
    }
  }
  return online.sort((a, b) => a - b)
}

/** Refuses connections until it has recovered, then accepts at once. */
const rejecting =
  (recoveredMs: number): Server =>
  (startedMs) => ({ settledMs: startedMs, online: startedMs >= recoveredMs })

/** Drops packets until it has recovered. The kernel retransmits a SYN after 1, 3 and 7 s. */
const silent =
  (recoveredMs: number): Server =>
  (startedMs) => {
    const connectedMs = [0, 1000, 3000, 7000]
      .map((delayMs) => startedMs + delayMs)
      .find((sentMs) => sentMs >= recoveredMs)
    return { settledMs: connectedMs ?? startedMs + DEADLINE_MS, online: connectedMs !== undefined }
  }

/** Refuses connections until it has recovered, then needs `perAgentMs` for each agent. */
function slow(recoveredMs: number, perAgentMs: number): Server {
  let freeMs = recoveredMs
  return (startedMs) => {
    if (startedMs < recoveredMs) return { settledMs: startedMs, online: false }
    freeMs = Math.max(freeMs, startedMs) + perAgentMs
    const inTime = freeMs - startedMs <= DEADLINE_MS
    return { settledMs: inTime ? freeMs : startedMs + DEADLINE_MS, online: inTime }
  }
}

const percentile = (sorted: readonly number[], share: number) => sorted[Math.ceil(sorted.length * share) - 1]!

test('the maximum delay doubles, stays low during a short outage, and then grows with its age', () => {
  const shortOutage = [0, 1, 2, 3, 20].map((attempt) => maxDelay(attempt, 5000))
  const longOutage = [60_000, 120_000, 300_000, 450_000, 86_400_000].map((age) => maxDelay(50, age))

  assert.deepEqual(shortOutage, [1000, 2000, 4000, 4000, 4000])
  assert.deepEqual(longOutage, [4000, 8000, 20_000, 30_000, 30_000])
})

test('delays cover the whole range below the maximum, and start over after a stable session', () => {
  const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms }
  const backoff = new Backoff({ clock, random: () => 1 })
  assert.deepEqual([backoff.next(), backoff.next(), backoff.next(), backoff.next()], [1000, 2000, 4000, 4000])
  clock.ms = 120_000
  assert.equal(backoff.next(), 8000)

  backoff.reset()

  assert.equal(backoff.next(), 1000)
  assert.equal(new Backoff({ clock, random: () => 0 }).next(), 0)
  assert.equal(new Backoff({ clock, random: () => 1, maxMs: 500 }).next(), 500)
})

test('the duration of an attempt counts towards the delay, but some jitter remains', () => {
  const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms }
  const backoff = new Backoff({ clock, random: () => 1 })
  backoff.next()
  backoff.next()

  assert.deepEqual([backoff.next(2500), backoff.next(10_000)], [1500, 1000])
})

for (const outageMs of [3000, 10_000, 30_000, 60_000])
  for (const [manner, server] of Object.entries({ refused: rejecting, 'not answered': silent }))
    test(`99 of 100 agents are back within 5 s of an outage of ${outageMs / 1000} s in which they were ${manner}`, () => {
      const online = reconnect(server(outageMs))

      assert.ok(percentile(online, 0.99) - outageMs <= 5000, String(percentile(online, 0.99) - outageMs))
    })

test('1,000 agents reconnect within 15 s to a server that accepts 100 a second', () => {
  const online = reconnect(slow(10_000, 10))

  assert.ok(online.at(-1)! - 10_000 <= 15_000, String(online.at(-1)! - 10_000))
})

test('after a long outage all agents reconnect within 30 s, and half of them within 15 s', () => {
  const online = reconnect(slow(600_000, 5))

  assert.ok(online.at(-1)! - 600_000 <= 31_000, String(online.at(-1)! - 600_000))
  assert.ok(percentile(online, 0.5) - 600_000 <= 15_500, String(percentile(online, 0.5) - 600_000))
})
