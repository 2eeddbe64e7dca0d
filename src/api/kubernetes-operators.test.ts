import assert from 'node:assert/strict'
import { test } from 'node:test'
import { shareApi } from '../../test/support/api.ts'
import { assertRejected } from '../../test/support/assert-rejected.ts'

const { fresh } = await shareApi()

/** What the operator sends with each call. */
const headers = { 'ngrok-version': '2', 'user-agent': 'ngrok-api-go//go1.25' }
const deployment = {
  name: 'ngrok-operator',
  namespace: 'ngrok-operator',
  version: '0.19.0',
  cluster_name: 'blue',
}

test('an operator finds no registration, registers, updates itself, polls its endpoints and leaves', async () => {
  const api = await fresh()
  const path = '/kubernetes_operators'
  const call = (method: string, url: string, body?: object) =>
    api.call(method, url, { headers, ...(body && { body }) })

  const before = await call('GET', path)
  const created = await call('POST', path, {
    description: 'Created by ngrok-operator',
    metadata: '{"namespace.uid":"1"}',
    enabled_features: ['Ingress', 'Gateway'],
    region: 'global',
    deployment,
  })
  const own = `${path}/${created.body.id}`
  const updated = await call('PATCH', own, { enabled_features: ['ingress'] })
  const bound = await call('GET', `${own}/bound_endpoints`)
  const listed = await call('GET', path)
  const removed = await call('DELETE', own)

  assert.deepEqual(before.body.operators, [])
  assert.equal(created.status, 201)
  assert.deepEqual(created.body.enabled_features, ['ingress', 'gateway'])
  assert.deepEqual(created.body.deployment, deployment)
  assert.equal(created.body.principal.id, api.account.userId)
  assert.deepEqual(updated.body.enabled_features, ['ingress'])
  assert.deepEqual(bound.body.endpoints, [])
  assert.equal(listed.body.operators[0].id, created.body.id)
  assert.equal(removed.status, 204)
  assert.equal((await call('GET', `${own}/bound_endpoints`)).status, 404)
})

test('the feature bindings is rejected with the next step', async () => {
  const api = await fresh()
  const body = { enabled_features: ['ingress', 'bindings'], deployment }

  const { body: answer } = await assertRejected(
    api,
    () => api.call('POST', '/kubernetes_operators', { body }),
    { status: 400, what: 'bindings' },
  )

  assert.equal(answer.details.field, 'enabled_features[1]')
  assert.match(answer.msg, /Install the operator without it/)
})
