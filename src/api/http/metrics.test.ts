import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { createApiMetrics } from './metrics.ts'

test('calls are counted by operation and status and timed by operation, however often metrics are scraped', async () => {
  const registry = new Registry()
  const observe = createApiMetrics(registry).forOperation('ip_policies.get')
  for (let call = 0; call < 3; call++) observe(200, 3)
  observe(404, 30)

  await registry.metrics()
  const text = await registry.metrics()

  assert.match(text, /adit_api_calls_total\{operation="ip_policies.get",status="200"\} 3/)
  assert.match(text, /adit_api_calls_total\{operation="ip_policies.get",status="404"\} 1/)
  assert.match(text, /adit_api_call_seconds_bucket\{le="0.005",operation="ip_policies.get"\} 3/)
  assert.match(text, /adit_api_call_seconds_count\{operation="ip_policies.get"\} 4/)
})

test('durations are flushed when no scrape comes', async () => {
  const registry = new Registry()
  const observe = createApiMetrics(registry).forOperation('ip_policies.get')

  for (let call = 0; call < 25_000; call++) observe(200, 1)

  assert.match(await registry.metrics(), /adit_api_call_seconds_count\{operation="ip_policies.get"\} 25000/)
})
