import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assertRejected } from '../../../../test/support/assert-rejected.ts'
import { engines } from '../../../../test/support/engines.ts'

for (const [engine, start] of Object.entries(engines)) {
  test(`a configuration has only modules that can act together on its type (${engine})`, async (t) => {
    const api = await start(t)
    const { call } = api
    const create = async (type: string) =>
      `/endpoint_configurations/${(await call.create('/endpoint_configurations', { type })).id}`
    const { id: backend_id } = await call.create('/backends/http_response', {})
    const https = await create('https')

    for (const [type, module] of [
      ['http', 'tls_termination'],
      ['tcp', 'compression'],
      ['tcp', 'basic_auth'],
    ] as const) {
      const path = await create(type)
      await assertRejected(api, () => call('PUT', `${path}/${module}`, { body: {} }), {
        status: 400,
        what: `${module} of ${type}`,
      })
      await assertRejected(api, () => call('PATCH', path, { body: { [module]: {} } }), {
        status: 400,
        field: module,
        what: `${module} of ${type}`,
      })
      const disabled = await call('PUT', `${path}/${module}`, { body: { enabled: false } })
      assert.equal(disabled.status, 200)
    }
    assert.equal((await call('PUT', `${https}/basic_auth`, { body: {} })).status, 200)
    await assertRejected(api, () => call('PUT', `${https}/backend`, { body: { backend_id } }), {
      status: 400,
      what: 'credentials of agents with a backend',
    })
  })

  test(`a configuration stays while a name uses it, and other accounts cannot use it (${engine})`, async (t) => {
    const api = await start(t)
    const { call, callAsOther } = api
    const { id } = await call.create('/endpoint_configurations', { type: 'https', compression: {} })
    const path = `/endpoint_configurations/${id}`
    const domain = await call.create('/reserved_domains', {
      domain: `configured-${engine.toLowerCase()}.example.com`,
      https_endpoint_configuration_id: id,
    })

    await assertRejected(api, () => call('DELETE', path), { status: 409, what: 'a used configuration' })
    const foreign = await callAsOther('POST', '/reserved_domains', {
      body: { domain: 'other.example.org', https_endpoint_configuration_id: id },
    })
    assert.deepEqual(
      [foreign.status, foreign.body.details.field],
      [400, 'https_endpoint_configuration_id'],
      'of another account',
    )
    for (const method of ['GET', 'PUT', 'DELETE'])
      assert.equal(
        (await callAsOther(method, `${path}/compression`, method === 'PUT' ? { body: {} } : {})).status,
        404,
        method,
      )
    const detached = await call('DELETE', `/reserved_domains/${domain.id}/https_endpoint_configuration`)
    assert.equal(detached.status, 204)
    assert.equal((await call('DELETE', path)).status, 204)
  })
}
