import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createWorkerTraffic } from './worker-traffic.ts'
import type { Workers } from './workers.ts'

test('the visitors of all workers are counted together, the country with the most first', async () => {
  const counts = new Map([
    [1, [{ country: 'NL', connections: 3 }]],
    [
      2,
      [
        { country: null, connections: 4 },
        { country: 'NL', connections: 2 },
      ],
    ],
  ])
  const callAll: Workers['callAll'] = async () => counts as never

  const countries = await createWorkerTraffic({ callAll }).traffic.countries('ac_1')

  assert.deepEqual(countries, [
    { country: 'NL', connections: 5 },
    { country: null, connections: 4 },
  ])
})
