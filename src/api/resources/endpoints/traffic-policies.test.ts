import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestApi } from '../../../../test/support/api.ts'
import { engines } from '../../../../test/support/engines.ts'
import { nextNumber } from '../../../../test/support/samples.ts'

/** The module of a new route or edge. */
async function moduleOf(api: TestApi, kind: 'route' | 'tcp' | 'tls'): Promise<string> {
  if (kind !== 'route')
    return `/edges/${kind}/${(await api.call.create(`/edges/${kind}`, {})).id}/traffic_policy`
  const path = `/edges/https/${(await api.call.create('/edges/https', {})).id}/routes`
  const { id } = await api.call.create(path, { match_type: 'path_prefix', match: '/' })
  return `${path}/${id}/traffic_policy`
}

const request = (type: string, config: object = {}) =>
  JSON.stringify({ on_http_request: [{ actions: [{ type, config }] }] })
const connection = (type: string, config: object = {}) =>
  JSON.stringify({ on_tcp_connect: [{ actions: [{ type, config }] }] })

test('an IP policy that does not exist is named with its rule, action and line', async (t) => {
  const api = await engines.SQLite!(t)
  const { body } = await api.call('POST', '/endpoints', {
    body: {
      url: 'https://a.internal',
      traffic_policy:
        'on_http_request:\n  - name: office\n    actions:\n      - type: restrict-ips\n        config: {ip_policies: [ipp_none]}\n      - type: deny\n',
    },
  })

  assert.match(
    body.msg,
    /rule 1 "office", action 1 \(restrict-ips\), config\.ip_policies\[0\]: there is no IP policy ipp_none .*line 5/,
  )
  assert.deepEqual(body.details, { ...body.details, field: 'traffic_policy', line: '5' })
})

const REJECTED: readonly [kind: 'route' | 'tcp' | 'tls', value: string, code: number, message: RegExp][] = [
  ['route', '{', 2236, /neither YAML nor JSON/],
  ['route', '[]', 2236, /a map of phases/],
  ['route', 'on_request: []', 2236, /did you mean on_http_request/],
  ['route', connection('deny'), 2248, /has no on_tcp_connect/],
  [
    'route',
    'on_http_request:\n  - actions:\n      - type: denny',
    2201,
    /rule 1, action 1 \(denny\): .*deny\? \(line 3/,
  ],
  [
    'route',
    request('deny', { status_code: 99 }),
    2215,
    /config\.status_code: it must be between 400 and 599/,
  ],
  ['tcp', request('deny'), 2230, /is not a phase of tcp endpoints/],
  ['tls', request('deny'), 2230, /is not a phase of tls endpoints/],
  ['tcp', connection('redirect', { to: 'x' }), 2202, /cannot be used in on_tcp_connect/],
]

for (const [name, start] of Object.entries(engines))
  test(`a policy of an edge is checked when it is written (${name})`, async (t) => {
    const api = await start(t)
    const modules = {
      route: await moduleOf(api, 'route'),
      tcp: await moduleOf(api, 'tcp'),
      tls: await moduleOf(api, 'tls'),
    }
    await api.call('PUT', modules.route, { body: { value: request('deny') } })

    for (const [kind, value, code, message] of REJECTED) {
      const { status, body } = await api.call('PUT', modules[kind], { body: { value } })
      assert.deepEqual([status, body.error_code], [400, `ERR_ADIT_${code}`], body.msg)
      assert.match(body.msg, message)
      assert.equal(body.details.field, 'value')
    }
    const kept = await api.call('GET', modules.route)

    assert.deepEqual(kept.body, { enabled: true, value: request('deny') })
  })

for (const [name, start] of Object.entries(engines))
  test(`the cookies of a policy belong to every host of its edge, whichever is written last (${name})`, async (t) => {
    const { call } = await start(t)
    const [own, foreign] = [`own${nextNumber()}.example`, `foreign${nextNumber()}.example`]
    for (const domain of [`*.${own}`, `*.${foreign}`]) await call.create('/reserved_domains', { domain })
    const edge = await call.create('/edges/https', { hostports: [`a.${own}:443`] })
    const routes = `/edges/https/${edge.id}/routes`
    const policyWith = (auth_cookie_domain: string) =>
      request('oauth', { provider: 'github', client_id: 'a', client_secret: 'b', auth_cookie_domain })
    // Each policy of a cloud endpoint answers.
    const cloud = (policy: string) => policy.replace(']}]}', ',{"type":"deny"}]}]}')
    const route = { match_type: 'path_prefix', match: '/' }
    const { id } = await call.create(routes, { ...route, traffic_policy: { value: policyWith(own) } })
    const codeOf = async (method: 'POST' | 'PATCH' | 'PUT', path: string, body: object) => {
      const answer = await call(method, path, { body })
      return answer.body.error_code ?? answer.status
    }
    const hostports = [`b.${own}:443`, `a.${foreign}:443`]
    const traffic_policy = { value: policyWith(foreign) }

    const rejected = await call('PATCH', `/edges/https/${edge.id}`, { body: { hostports } })
    assert.equal(rejected.status, 400)
    assert.deepEqual([rejected.body.error_code, rejected.body.details.field], ['ERR_ADIT_2241', 'hostports'])
    assert.match(
      rejected.body.msg,
      new RegExp(`auth_cookie_domain: a\\.${foreign} is not ${own} or below it`),
    )
    assert.equal(await codeOf('POST', routes, { ...route, match: '/b', traffic_policy }), 'ERR_ADIT_2241')
    assert.equal(await codeOf('PATCH', `${routes}/${id}`, { traffic_policy }), 'ERR_ADIT_2241')
    assert.equal(await codeOf('PUT', `${routes}/${id}/traffic_policy`, traffic_policy), 'ERR_ADIT_2241')
    assert.equal(await codeOf('PATCH', `/edges/https/${edge.id}`, { hostports: hostports.slice(0, 1) }), 200)
    assert.equal(await codeOf('PUT', `${routes}/${id}/traffic_policy`, { value: request('deny') }), 200)
    assert.equal(await codeOf('PATCH', `/edges/https/${edge.id}`, { hostports }), 200)
    const endpoint = await call.create('/endpoints', {
      url: `https://c.${own}`,
      traffic_policy: cloud(policyWith(own)),
    })
    for (const change of [{ url: `https://c.${foreign}` }, { traffic_policy: cloud(policyWith(foreign)) }])
      assert.equal(await codeOf('PATCH', `/endpoints/${endpoint.id}`, change), 'ERR_ADIT_2241')

    const escaped = policyWith(own).replace('auth_cookie_domain', 'auth_cookie_doma\\u0069n')
    assert.equal(await codeOf('PATCH', `/edges/https/${edge.id}`, { hostports: [`a.${own}:443`] }), 200)
    assert.equal(await codeOf('PUT', `${routes}/${id}/traffic_policy`, { value: escaped }), 200)
    assert.equal(await codeOf('PATCH', `/edges/https/${edge.id}`, { hostports }), 'ERR_ADIT_2241')
  })

for (const [name, start] of Object.entries(engines))
  test(`a cloud endpoint whose cookie domain was released can still be changed (${name})`, async (t) => {
    const { call } = await start(t)
    const parent = `own${nextNumber()}.example`
    const host = `app.${parent}`
    await call.create('/reserved_domains', { domain: host })
    const { id: parentId } = await call.create('/reserved_domains', { domain: `*.${parent}` })
    const config = { provider: 'github', client_id: 'a', client_secret: 'b', auth_cookie_domain: parent }
    const traffic_policy = request('oauth', config).replace(']}]}', ',{"type":"deny"}]}]}')
    const { id } = await call.create('/endpoints', { url: `https://${host}`, traffic_policy })
    await call('DELETE', `/reserved_domains/${parentId}`)

    const described = await call('PATCH', `/endpoints/${id}`, { body: { description: 'new' } })
    const moved = await call('PATCH', `/endpoints/${id}`, { body: { url: `https://b.${host}` } })

    assert.deepEqual([described.status, described.body.description], [200, 'new'])
    assert.equal(moved.status, 400)
  })
