import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestApi } from '../../test/support/api.ts'
import { engines } from '../../test/support/engines.ts'

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

const REJECTED: readonly [kind: 'route' | 'tcp' | 'tls', value: string, code: number, message: RegExp][] = [
  ['route', '{', 2236, /neither YAML nor JSON/],
  ['route', '[]', 2236, /a map of phases/],
  ['route', 'on_request: []', 2236, /did you mean on_http_request/],
  ['route', connection('deny'), 2248, /has no on_tcp_connect/],
  [
    'route',
    'on_http_request:\n  - actions:\n      - type: denny',
    2201,
    /rule 1, action 1: .*deny\? \(line 3/,
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
