import assert from 'node:assert/strict'
import { readdir, readFile } from 'node:fs/promises'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { startLocal, startWorld, textOf, until } from '../reliability/harness.ts'
import { createClient } from '../support/api.ts'
import { type LightAgents, startLightAgents } from '../support/light-agents.ts'

const MINUTES = Number(process.env.SOAK_MINUTES ?? 30)
const SAMPLE_MS = 5000
const GROUPS = 10
const AGENTS_IN_GROUP = 20
const MIB = 1024 * 1024
const MAX_SLOPE_PER_MINUTE = MIB
const MAX_EXTRA_DESCRIPTORS = 10

interface Sample {
  readonly minute: number
  readonly resident: number
  readonly descriptors: number
}

async function sample(pid: number, minute: number): Promise<Sample> {
  const [, pages] = (await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ')
  return {
    minute,
    resident: Number(pages) * 4096,
    descriptors: (await readdir(`/proc/${pid}/fd`)).length,
  }
}

/** Bytes a minute, by least squares: an average would hide what grows slowly. */
function slope(samples: readonly Sample[]): number {
  const mean = (of: (each: Sample) => number) =>
    samples.reduce((sum, each) => sum + of(each), 0) / samples.length
  const [x, y] = [mean(({ minute }) => minute), mean(({ resident }) => resident)]
  const over = samples.reduce((sum, each) => sum + (each.minute - x) * (each.resident - y), 0)
  return over / samples.reduce((sum, each) => sum + (each.minute - x) ** 2, 0)
}

test(`${MINUTES} minutes of visitors, writes and agents that come and go cost no memory and no descriptors (P59)`, async (t) => {
  const world = await startWorld(t, ['--api-rate-limit', '0'])
  const port = await startLocal(t, (request, response) => {
    request.resume()
    response.end('x'.repeat(Number(request.url!.slice(1))))
  })
  const agent = world.startAgent(['http', String(port), '--url=http://soak.adit.localhost'])
  await agent.until(({ stdout }) => stdout.includes('Forwarding'))
  const groups: LightAgents[] = Array.from({ length: GROUPS }, () =>
    startLightAgents(t, world.credentials, AGENTS_IN_GROUP),
  )
  const online = () => groups.reduce((sum, { online: count }) => sum + count, 0)
  await until(async () => online() === GROUPS * AGENTS_IN_GROUP, 'all agents are online', 120_000)

  const began = performance.now()
  const minute = () => (performance.now() - began) / 60_000
  const running = () => minute() < MINUTES
  let [requests, writes] = [0, 0]
  const visit = async () => {
    for (let size = 0; running(); size = (size * 7 + 101) % 200_000) {
      const body = await textOf(await world.ask('soak.adit.localhost', `/${size}`))
      assert.equal(body.length, size)
      requests += 1
    }
  }
  const write = async () => {
    const call = createClient(world.credentials.api_url, world.credentials.api_key)
    while (running()) {
      const { id } = await call.create('/ip_policies', { description: 'soak' })
      assert.equal((await call('DELETE', `/ip_policies/${id}`)).status, 204)
      writes += 2
      await delay(50)
    }
  }
  /** Each minute a tenth of the agents vanish and others come. */
  const churn = async () => {
    for (let next = 1; running(); next++) {
      while (running() && minute() < next) await delay(500)
      groups.shift()!.stop()
      groups.push(startLightAgents(t, world.credentials, AGENTS_IN_GROUP))
    }
  }
  const samples: Sample[] = []
  const watch = async () => {
    while (running()) {
      samples.push(await sample(world.server.child.pid!, minute()))
      await delay(SAMPLE_MS)
    }
  }
  await Promise.all([visit(), visit(), visit(), visit(), write(), churn(), watch()])

  const settled = samples.filter((each) => each.minute > MINUTES / 3)
  const grows = slope(settled)
  const most = Math.max(...settled.map(({ descriptors }) => descriptors))
  const least = Math.min(...settled.map(({ descriptors }) => descriptors))
  t.diagnostic(
    `${requests} requests, ${writes} writes; ${(grows / MIB).toFixed(2)} MiB a minute, ${least} to ${most} descriptors`,
  )
  assert.ok(requests > 0 && writes > 0)
  // A short run says nothing about a slope: garbage comes and goes.
  if (MINUTES >= 10)
    assert.ok(grows <= MAX_SLOPE_PER_MINUTE, `resident memory grows by ${grows} bytes a minute`)
  const usual = settled[0]!.descriptors
  const last = settled.at(-1)!.descriptors
  // Between the end of one group of agents and the start of the next there may be one group more or less.
  assert.ok(Math.abs(last - usual) <= MAX_EXTRA_DESCRIPTORS + 2 * AGENTS_IN_GROUP, `${usual} became ${last}`)
})
