import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatTimestamp } from './clock.ts'

test('a timestamp is RFC 3339 in UTC with whole seconds, at any time of any day', () => {
  const moments = [
    0,
    999,
    1_000,
    86_399_999,
    86_400_000,
    -1,
    -86_400_001,
    Date.UTC(9999, 11, 31, 23, 59, 59, 999),
  ]
  for (let step = 0; step < 500; step++) moments.push(1_700_000_000_000 + step * 7_654_321)

  for (const moment of moments)
    assert.equal(formatTimestamp(moment), `${new Date(moment).toISOString().slice(0, 19)}Z`, String(moment))
})
