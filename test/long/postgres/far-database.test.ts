import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { type TestContext, test } from 'node:test'
import { startAgent } from '../../support/agents.ts'
import { startDelayRelay } from '../../support/delay-relay.ts'
import { startHttp } from '../../support/local-server.ts'
import { startPlatform } from '../../support/platform.ts'
import { createTestDatabase } from '../../support/postgres.ts'
import { startRelay } from '../../support/relay.ts'

const ONE_WAY_MS = 25
const CALLS = 20
/** Of the writer: a call reads while it takes the lock. */
const ROUND_TRIPS = { 'a call': 2, 'a bind': 3 }

/** A database whose answers take 50 ms, and the round trips of the connections that have written to it. */
async function startFarDatabase(t: TestContext) {
  const url = new URL((await createTestDatabase(t)).url)
  const writers = new Set<Socket>()
  const answered = new WeakSet<Socket>()
  let roundTrips = 0
  const far = await startDelayRelay(t, Number(url.port), ONE_WAY_MS)
  const { port } = await startRelay(t, far, (chunk, from, connection) => {
    if (from === 'server') {
      answered.add(connection)
      return
    }
    // Only the transactions of writers lock the head.
    if (chunk.includes('FROM head FOR UPDATE')) writers.add(connection)
    if (writers.has(connection) && answered.delete(connection)) roundTrips++
  })
  url.port = String(port)
  return {
    url: url.href,
    takeRoundTrips() {
      const count = roundTrips
      roundTrips = 0
      return count
    },
  }
}

test('a call that changes something writes in two round trips, a bind in three', async (t) => {
  const database = await startFarDatabase(t)
  const platform = await startPlatform(t, ['--database-url', database.url])
  const { call } = platform
  const { id } = await call.create('/ip_policies', {})
  const agent = await startAgent(t, platform)
  const addr = await startHttp(t, (_request, response) => response.end('served'))
  const work = {
    'a call': (index: number) => call('PATCH', `/ip_policies/${id}`, { body: { description: `${index}` } }),
    'a bind': (index: number) => agent.forward({ addr, url: `http://app-${index}.adit.localhost` }),
  }

  for (const name of ['a call', 'a bind'] as const) {
    const times: number[] = []
    const roundTrips: number[] = []
    for (let index = 0; index < CALLS; index++) {
      database.takeRoundTrips()
      const startedAt = performance.now()
      await work[name](index)
      times.push(performance.now() - startedAt)
      roundTrips.push(database.takeRoundTrips())
    }
    t.diagnostic(`${name}: p50 ${Math.round(median(times))} ms at ${2 * ONE_WAY_MS} ms`)
    // Now and then another write is on its way.
    assert.equal(median(roundTrips), ROUND_TRIPS[name], `${name}: ${roundTrips.join(' ')}`)
  }
})

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1]!
}
