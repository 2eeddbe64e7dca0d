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
  [{ last_success_at: later, last_error_at: earlier }, 'good', /went well\. Nothing waits/],
  [
    { last_success_at: earlier, last_error_at: later, backlog: 1200 },
    'warn',
    /tried again\. 1,200 events wait/,
  ],
  [{ last_error_at: later }, 'warn', /last delivery failed/],
  [{ last_success_at: later, dead: 3 }, 'warn', /3 earlier events were given up/],
  [{ disabled: true, backlog: 7 }, 'bad', /gets nothing more until it is changed.*7 events wait/],
] as const

for (const [state, tone, text] of cases)
  test(`a destination is spoken of plainly: ${text.source}`, () => {
    const words = describeDelivery({ ...fresh, ...state })

    assert.equal(words.tone, tone)
    assert.match(words.text, text)
  })
