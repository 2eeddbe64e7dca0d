import { test } from 'node:test'
import { assertDeliveredDespiteKills } from './testing/crash.ts'

// With 10,000 events in test/long/events.test.ts.
test('none of 2,000 events is lost with a receiver that fails 30 % and 5 kills of the process', (t) =>
  assertDeliveredDespiteKills(t, 2000, 5))
