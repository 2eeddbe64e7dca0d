import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LoggedRequest, RequestLog } from './request-log.ts'

function request(hostId: string, tunnelId = ''): LoggedRequest {
  return {
    accountId: 'ac_1',
    hostId,
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

  const stopOne = log.watch('ac_1', 'tn_1', ({ hostId }) => logged.push(hostId))
  const stopTwo = log.watch('ac_1', 'tn_2', ({ hostId }) => logged.push(hostId))
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

test('a request at one worker is passed to the listener at another', () => {
  const logs = [new RequestLog(), new RequestLog(), new RequestLog()]
  const connect = (log: RequestLog) =>
    log.share((update) => {
      for (const other of logs) if (other !== log) other.receive(logs.indexOf(log), update)
    })
  const [first, second, third] = logs as [RequestLog, RequestLog, RequestLog]
  const logged: string[] = []
  connect(first)
  const stop = first.watch('ac_1', 'tn_1', ({ hostId }) => logged.push(hostId))
  // They start later.
  for (const log of [second, third]) {
    connect(log)
    first.onWorkerStarted(logs.indexOf(log))
  }
  assert.deepEqual(
    [second, third].map((log) => log.wantsRequests('ac_1')),
    [true, true],
  )
  second.onRequest(request('edghts_1', 'tn_1'))
  third.onRequest(request('edghts_2', 'tn_1'))
  third.onRequest(request('edghts_3', 'tn_2'))
  assert.deepEqual(logged, ['edghts_1', 'edghts_2'])

  stop()
  assert.deepEqual(
    logs.map((log) => log.wantsRequests('ac_1')),
    [false, false, false],
  )
})

test('the watches of a worker that crashed are forgotten when it starts again', () => {
  const log = new RequestLog()
  log.receive(2, { watched: { accountId: 'ac_1', tunnelId: 'tn_1' } })
  log.receive(3, { watched: { accountId: 'ac_3', tunnelId: 'tn_3' } })
  log.onWorkerStarted(2)

  assert.deepEqual([log.wantsRequests('ac_1'), log.wantsRequests('ac_3')], [false, true])
})

test('a request of an edge is passed to the listener of the tunnel that served it', () => {
  const log = new RequestLog()
  const logged: string[] = []
  log.watch('ac_1', 'tn_1', ({ hostId }) => logged.push(hostId))
  log.watch('ac_1', 'tn_2', () => logged.push('not meant'))

  log.onRequest(request('edghts_1', 'tn_1'))
  log.onRequest(request('edghts_2'))

  assert.deepEqual(logged, ['edghts_1'])
})
