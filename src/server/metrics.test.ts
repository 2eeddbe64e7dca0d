import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import type { Edge } from '../edge/index.ts'
import { Traffic } from '../edge/stats/traffic.ts'
import { registerPlatformMetrics } from './metrics.ts'

test('totals of edges are counters, with the same value at each scrape until traffic comes', async () => {
  const registry = new Registry()
  const counters = { requests: 3, connections: 2, rejections: 1, errors: 0 }
  const scopes = {
    counts: () => [{ accountId: 'ac_1', edgeId: 'edghts_1', scopeId: 'rt_1', counters }],
    broken: () => [],
  }
  const traffic = new Traffic()
  const account = traffic.forAccount('ac_1')
  account.statuses[2] = 7
  account.bytesOut = 100
  account.responseTimes.observe(7)
  account.responseTimes.observe(40_000)
  registerPlatformMetrics(registry, {
    edge: { scopes, traffic } as unknown as Edge,
    agents: () => 0,
    tunnels: () => 2,
    expiries: () => [5000, 90_000, 30_000],
    now: () => 10_000,
    heap: () => 0,
    staleness: () => 0,
    isSplit: () => false,
    lostRevisions: () => {},
  })

  await registry.metrics()
  counters.requests = 5
  const text = await registry.metrics()

  for (const name of ['requests', 'connections', 'rejections', 'errors'])
    assert.match(text, new RegExp(`^# TYPE adit_edge_${name}_total counter$`, 'm'))
  assert.match(text, /^adit_edge_requests_total\{account="ac_1",edge="edghts_1",scope="rt_1"\} 5$/m)
  assert.match(text, /^adit_edge_connections_total\{.*\} 2$/m)
  assert.match(text, /^# TYPE adit_edge_broken_places gauge$/m)
  for (const line of [
    'adit_responses_total{account="ac_1",class="2xx"} 7',
    'adit_bytes_total{account="ac_1",direction="out"} 100',
    '# TYPE adit_response_seconds histogram',
    'adit_response_seconds_bucket{account="ac_1",le="0.005"} 0',
    'adit_response_seconds_bucket{account="ac_1",le="0.01"} 1',
    'adit_response_seconds_bucket{account="ac_1",le="30"} 1',
    'adit_response_seconds_bucket{account="ac_1",le="+Inf"} 2',
    'adit_response_seconds_sum{account="ac_1"} 40.007',
    'adit_response_seconds_count{account="ac_1"} 2',
    'adit_tunnels 2',
    'adit_certificates{state="expired"} 1',
    'adit_certificates{state="valid"} 2',
    'adit_certificate_expiry_seconds 20',
  ])
    assert.ok(text.includes(`${line}\n`), line)
})
