import assert from 'node:assert/strict'
import { test } from 'node:test'
import { silentLog } from '../../base/process/log.ts'
import { KsuidGenerator } from '../../base/values/id.ts'
import { Subscriptions } from './subscriptions.ts'

const HTTP = 'http_request_complete.v0'
const CREATED = 'ip_policy_created.v0'
const source = (type: string, rest = {}) => ({ type, filter: '', fields: [], ...rest })

test('an account wants an event if a subscription names its type and a destination', () => {
  const subscriptions = new Subscriptions(silentLog)

  subscriptions.set('esb_1', 'ac_1', { sources: [source(HTTP)], destination_ids: ['ed_1'] })
  subscriptions.set('esb_2', 'ac_1', { sources: [source(CREATED)], destination_ids: [] })

  assert.equal(subscriptions.hasRoutes(HTTP, 'ac_1'), true)
  assert.equal(subscriptions.hasRoutes(HTTP, 'ac_2'), false)
  assert.equal(subscriptions.hasRoutes(CREATED, 'ac_1'), false)
})

test('a changed or deleted subscription affects its own types only', () => {
  const subscriptions = new Subscriptions(silentLog)
  subscriptions.set('esb_1', 'ac_1', { sources: [source(HTTP)], destination_ids: ['ed_1'] })
  subscriptions.set('esb_2', 'ac_1', { sources: [source(HTTP)], destination_ids: ['ed_2'] })

  subscriptions.set('esb_1', 'ac_1', { sources: [source(CREATED)], destination_ids: ['ed_1'] })

  assert.deepEqual(
    subscriptions.routes(HTTP, 'ac_1').map(({ destinations }) => destinations),
    [['ed_2']],
  )
  subscriptions.remove('esb_2')
  assert.equal(subscriptions.hasRoutes(HTTP, 'ac_1'), false)
  assert.equal(subscriptions.hasRoutes(CREATED, 'ac_1'), true)
  subscriptions.clear()
  assert.equal(subscriptions.hasRoutes(CREATED, 'ac_1'), false)
})

test('a traffic source without fields selects all of them, and one with an invalid filter has no route', () => {
  const subscriptions = new Subscriptions(silentLog)

  subscriptions.set('esb_1', 'ac_1', {
    sources: [source('tcp_connection_closed.v0'), source(HTTP, { filter: 'ev.nothing ==' })],
    destination_ids: ['ed_1'],
  })

  const [route] = subscriptions.routes('tcp_connection_closed.v0', 'ac_1')
  const { body } = route!.traffic!.recorder.capture(
    new KsuidGenerator('ev'),
    { connection: { startedAt: 0 }, annotations: {}, bytesIn: 7, endedAt: 0 },
    0,
  )
  assert.equal(JSON.parse(body).object.conn.bytes_in, 7)
  assert.equal(subscriptions.hasRoutes(HTTP, 'ac_1'), false)
})
