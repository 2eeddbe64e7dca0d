import assert from 'node:assert/strict'
import { test } from 'node:test'
import { computeConnectionLimits, openFilesLimit } from './connection-limits.ts'

test('clients, API calls, sessions and legs leave up to a quarter of the descriptors for everything else', async () => {
  for (const limit of [320, 1024, 4096, 20_000, 65_536, 1_048_576]) {
    const { clients: visitors, apiCalls: calls, sessions, legs } = computeConnectionLimits(limit)
    // HTTP, HTTPS, and all TCP ports together.
    assert.ok(
      3 * visitors + calls + sessions + legs <= limit - Math.min(limit / 4, 3072),
      `${visitors}, ${calls}, ${sessions} and ${legs} of ${limit}`,
    )
    assert.ok(visitors >= 32 && visitors <= 16_384)
  }
  assert.ok((await openFilesLimit()) > 0)
})

test('sessions get what the others leave', () => {
  const sessions = [320, 20_000, 1_048_576].map((openFiles) => computeConnectionLimits(openFiles).sessions)
  assert.deepEqual(sessions, [66, 6428, 65_536])
})
