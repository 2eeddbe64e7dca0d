import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Traffic } from './traffic.ts'
import { TrafficHistory } from './traffic-history.ts'

/** Traffic whose intervals the test ends. */
function startHistory() {
  const traffic = new Traffic()
  const history = new TrafficHistory()
  return {
    forAccount: (accountId: string) => traffic.forAccount(accountId),
    sample: () => history.sample(traffic.accounts()),
    history: (accountId: string) => history.viewOf(accountId),
  }
}

test('the history tells what an account did in each interval', () => {
  const traffic = startHistory()
  const account = traffic.forAccount('ac_1')
  traffic.forAccount('ac_2')
  traffic.sample()
  account.requests += 3
  account.statuses[2] += 2
  account.statuses[5] += 1
  account.bytesOut += 700
  traffic.sample()
  traffic.sample()
  const connection = { bytesIn: 50, bytesOut: 0 }
  account.open.add(connection)
  account.connections++
  traffic.sample()
  connection.bytesIn = 80
  traffic.sample()

  const history = traffic.history('ac_1')

  assert.deepEqual(history.requests, [0, 3, 0, 0, 0])
  assert.deepEqual(history.bytes_out, [0, 700, 0, 0, 0])
  assert.deepEqual(history.bytes_in, [0, 0, 0, 50, 30])
  assert.deepEqual(history.connections, [0, 0, 0, 1, 0])
  assert.deepEqual(
    history.statuses.map((counts) => counts[1]),
    [0, 2, 0, 0, 1],
  )
  assert.deepEqual(traffic.history('ac_2').requests, [0, 0, 0, 0, 0])
})

test('the history keeps one hour, also of an account that was idle for long', () => {
  const traffic = startHistory()
  const account = traffic.forAccount('ac_1')
  account.requests = 5
  traffic.sample()
  for (let count = 0; count < 1000; count++) traffic.sample()
  const idle = traffic.history('ac_1').requests
  account.requests = 7
  traffic.sample()
  traffic.sample()

  const { requests, interval_seconds } = traffic.history('ac_1')

  assert.equal(requests.length * interval_seconds, 3600)
  assert.deepEqual(new Set(idle), new Set([0]))
  assert.deepEqual(requests.slice(-3), [0, 2, 0])
  assert.equal(
    requests.reduce((sum, each) => sum + each),
    2,
  )
})

test('many accounts take no more memory than a thousand: the one idle for longest loses its history', () => {
  const traffic = startHistory()
  for (let count = 0; count < 1001; count++) traffic.forAccount(`ac_${count}`).requests++
  traffic.sample()
  traffic.forAccount('ac_0').requests++
  traffic.sample()

  assert.deepEqual(traffic.history('ac_0').requests, [0, 1], 'what it counted before is not counted again')
  assert.deepEqual(traffic.history('ac_2').requests, [1, 0])
})
