import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeDelivery } from './delivery-labels.ts'

const fresh = {
  last_success_at: null,
  last_error_at: null,
  last_error: null,
  backlog: 0,
  dead: 0,
  dropped: 0,
  disabled: false,
}
const earlier = '2026-06-01T10:00:00Z'
const later = '2026-06-01T11:00:00Z'

const cases = [
  [{}, 'info', /Nothing has been sent yet/],
  [{ last_success_at: later, last_error_at: earlier }, 'good', /succeeded\. No events are queued/],
  [
    { last_success_at: earlier, last_error_at: later, backlog: 1200 },
    'warn',
    /will be retried\. 1,200 events are queued/,
  ],
  [{ last_error_at: later }, 'warn', /last delivery failed/],
  [{ last_success_at: later, dead: 3 }, 'warn', /3 earlier events were not delivered/],
  [{ disabled: true, backlog: 7 }, 'bad', /receives no more events until it is changed.*7 events are queued/],
] as const

for (const [state, tone, text] of cases)
  test(`the status of a destination is described: ${text.source}`, () => {
    const status = describeDelivery({ ...fresh, ...state })

    assert.equal(status.tone, tone)
    assert.match(status.text, text)
  })
