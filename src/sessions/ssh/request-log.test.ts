import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LoggedRequest, RequestLog } from './request-log.ts'

function request(entryId: string, tunnelId = ''): LoggedRequest {
  return {
    accountId: 'ac_1',
    entryId,
    tunnelId,
    connection: { remoteAddress: '192.0.2.1' },
    startedAt: 1,
    endedAt: 2,
    method: 'GET',
    target: '/',
    status: 200,
  }
}

test('requests are requested only for watched accounts and passed to the listener of their tunnel', () => {
  const log = new RequestLog()
  const logged: string[] = []
  const wantedInitially = log.wantsRequests('ac_1')

  const stopOne = log.watch('ac_1', 'tn_1', ({ entryId }) => logged.push(entryId))
  const stopTwo = log.watch('ac_1', 'tn_2', ({ entryId }) => logged.push(entryId))
  for (const id of ['tn_1', 'tn_2', 'tn_3']) log.onRequest(request(id))
  stopOne()
  stopOne()
  log.onRequest(request('tn_1'))

  assert.equal(wantedInitially, false)
  assert.deepEqual(logged, ['tn_1', 'tn_2'])
  assert.equal(log.wantsRequests('ac_1'), true)
  assert.equal(log.wantsRequests('ac_2'), false)
  stopTwo()
  assert.equal(log.wantsRequests('ac_1'), false)
})

test('a request of an edge is passed to the listener of the tunnel that served it', () => {
  const log = new RequestLog()
  const logged: string[] = []
  log.watch('ac_1', 'tn_1', ({ entryId }) => logged.push(entryId))
  log.watch('ac_1', 'tn_2', () => logged.push('not meant'))

  log.onRequest(request('edghts_1', 'tn_1'))
  log.onRequest(request('edghts_2'))

  assert.deepEqual(logged, ['edghts_1'])
})
