import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startApi } from '../support/api.ts'

const conflicts: [string, [string, string], [string, string]][] = [
  ['an ingress inside an ingress', ['/agent_ingresses', 'a.example'], ['/agent_ingresses', 'x.a.example']],
  ['an ingress around an ingress', ['/agent_ingresses', 'x.a.example'], ['/agent_ingresses', 'a.example']],
  [
    'a domain inside an ingress',
    ['/agent_ingresses', 'a.example'],
    ['/reserved_domains', 'tunnel.us.a.example'],
  ],
  ['a wildcard over an ingress', ['/agent_ingresses', 'x.a.example'], ['/reserved_domains', '*.a.example']],
  ['an ingress over a domain', ['/reserved_domains', 'shop.a.example'], ['/agent_ingresses', 'a.example']],
  ['an ingress under a wildcard', ['/reserved_domains', '*.a.example'], ['/agent_ingresses', 'x.a.example']],
]

for (const [name, [firstPath, first], [secondPath, second]] of conflicts)
  test(`${name} is rejected for another account and accepted for the same one`, async (t) => {
    const api = await startApi(t)
    await api.call.create(firstPath, { domain: first })

    const otherResponse = await api.callAsOther('POST', secondPath, { body: { domain: second } })
    const ownResponse = await api.call('POST', secondPath, { body: { domain: second } })

    assert.equal(otherResponse.status, 409)
    assert.equal(ownResponse.status, 201, JSON.stringify(ownResponse.body))
  })
