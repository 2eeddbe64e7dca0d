import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import type { Edge } from '../edge/index.ts'
import { registerPlatformMetrics } from './metrics.ts'

test('totals of edges are counters, with the same value at each scrape until traffic comes', async () => {
  const registry = new Registry()
  const counters = { requests: 3, connections: 2, rejections: 1, errors: 0 }
  const scopes = {
    counts: () => [{ accountId: 'ac_1', edgeId: 'edghts_1', scopeId: 'rt_1', counters }],
    broken: () => [],
  }
  registerPlatformMetrics(registry, {
    edge: { scopes } as unknown as Edge,
    agents: () => 0,
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
})
