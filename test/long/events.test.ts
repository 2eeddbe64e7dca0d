import { test } from 'node:test'
import { assertDeliveredDespiteKills } from '../../src/events/testing/crash.ts'

test('none of 10,000 events is lost with a receiver that fails 30 % and 5 kills of the process', (t) =>
  assertDeliveredDespiteKills(t, 10_000, 5))
