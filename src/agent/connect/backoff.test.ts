import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createRandom } from '../../../test/support/random.ts'
import { Backoff, pauseBound } from './backoff.ts'

const AGENTS = 1000
const DEADLINE_MS = 10_000

/** What becomes of an attempt that begins at a moment: when that is known, and whether it has succeeded. */
type Server = (beganMs: number) => { readonly knownMs: number; readonly online: boolean }

/** When each of a crowd of agents, cut off at the moment 0, is online again: attempts run in the order of their time. */
function reconnect(server: Server, agents = AGENTS): number[] {
  const random = createRandom(1)
  const crowd = Array.from({ length: agents }, () => {
    const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms }
    const backoff = new Backoff({ clock, random: () => random.below(1_000_000) / 1_000_000 })
    return { clock, backoff, dueMs: backoff.next() }
  })
  const online: number[] = []
  while (crowd.length > 0) {
    const agent = crowd.reduce((one, other) => (one.dueMs <= other.dueMs ? one : other))
    const { knownMs, online: succeeded } = server(agent.dueMs)
    if (succeeded) {
      online.push(knownMs)
      crowd.splice(crowd.indexOf(agent), 1)
    } else {
      agent.clock.ms = knownMs
      agent.dueMs = knownMs + agent.backoff.next(knownMs - agent.dueMs)
    }
  }
  return online.sort((one, other) => one - other)
}

/** Refuses connections until it is back, and is then as quick as nothing. */
const refusing =
  (backMs: number): Server =>
  (beganMs) => ({ knownMs: beganMs, online: beganMs >= backMs })

/** Answers nothing until it is back. The kernel repeats a SYN after 1, 3 and 7 s. */
const silent =
  (backMs: number): Server =>
  (beganMs) => {
    const heard = [0, 1000, 3000, 7000].map((after) => beganMs + after).find((at) => at >= backMs)
    return { knownMs: heard ?? beganMs + DEADLINE_MS, online: heard !== undefined }
  }

/** Refuses until it is back, and then takes its time for each agent. */
function slow(backMs: number, perAgentMs: number): Server {
  let freeMs = backMs
  return (beganMs) => {
    if (beganMs < backMs) return { knownMs: beganMs, online: false }
    freeMs = Math.max(freeMs, beganMs) + perAgentMs
    const inTime = freeMs - beganMs <= DEADLINE_MS
    return { knownMs: inTime ? freeMs : beganMs + DEADLINE_MS, online: inTime }
  }
}

const percentile = (sorted: readonly number[], share: number) => sorted[Math.ceil(sorted.length * share) - 1]!

test('the bound of a pause doubles, stays low while an outage is young, and then grows with its age', () => {
  const young = [0, 1, 2, 3, 20].map((attempt) => pauseBound(attempt, 5000))
  const old = [60_000, 120_000, 300_000, 450_000, 86_400_000].map((age) => pauseBound(50, age))

  assert.deepEqual(young, [1000, 2000, 4000, 4000, 4000])
  assert.deepEqual(old, [4000, 8000, 20_000, 30_000, 30_000])
})

test('pauses are drawn from the whole range below the bound, and start over after a session that lasted', () => {
  const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms }
  const top = new Backoff({ clock, random: () => 1 })
  assert.deepEqual([top.next(), top.next(), top.next(), top.next()], [1000, 2000, 4000, 4000])
  clock.ms = 120_000
  assert.equal(top.next(), 8000)

  top.reset()

  assert.equal(top.next(), 1000)
  assert.equal(new Backoff({ clock, random: () => 0 }).next(), 0)
  assert.equal(new Backoff({ clock, random: () => 1, maxMs: 500 }).next(), 500)
})

test('time that an attempt took counts as a pause, but for a rest of jitter', () => {
  const clock = { ms: 0, now: () => clock.ms, monotonic: () => clock.ms }
  const top = new Backoff({ clock, random: () => 1 })
  top.next()
  top.next()

  assert.deepEqual([top.next(2500), top.next(10_000)], [1500, 1000])
})

for (const outageMs of [3000, 10_000, 30_000, 60_000])
  for (const [manner, server] of Object.entries({ refused: refusing, 'not answered': silent }))
    test(`99 of 100 agents are back within 5 s of an outage of ${outageMs / 1000} s in which they were ${manner}`, () => {
      const online = reconnect(server(outageMs))

      assert.ok(percentile(online, 0.99) - outageMs <= 5000, String(percentile(online, 0.99) - outageMs))
    })

test('a storm of 1,000 agents settles within 15 s at a server that takes 100 a second', () => {
  const online = reconnect(slow(10_000, 10))

  assert.ok(online.at(-1)! - 10_000 <= 15_000, String(online.at(-1)! - 10_000))
})

test('after a long outage a storm settles within 30 s, and half of it within 15 s', () => {
  const online = reconnect(slow(600_000, 5))

  assert.ok(online.at(-1)! - 600_000 <= 31_000, String(online.at(-1)! - 600_000))
  assert.ok(percentile(online, 0.5) - 600_000 <= 15_500, String(percentile(online, 0.5) - 600_000))
})
