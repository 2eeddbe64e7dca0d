import type { TestContext } from 'node:test'
import {
  type ApiReply,
  type ApiRequest,
  type ApiStandIn,
  expect,
  RecordStore,
  readJsonBody,
  readQuoted,
  type StandInOptions,
  startApiStandIn,
} from './stand-in.ts'

const TOKEN = 'hcloud-token'

/** The DNS of Hetzner's Cloud API, as its reference documents it. */
export async function startHetzner(t: TestContext, options: StandInOptions): Promise<ApiStandIn> {
  const store = new RecordStore(options)

  function serve(request: ApiRequest): ApiReply {
    const { method, path, headers } = request
    if (headers.authorization !== `Bearer ${TOKEN}`)
      return fail(401, 'unauthorized', 'the provided token is invalid')
    const match = /^\/v1\/zones\/([^/]+)(?:\/rrsets\/([^/]+)\/TXT(?:\/actions\/(\w+))?)?$/.exec(path)
    expect(match !== null, 'no such path')
    const [, zoneIdOrName = '', relativeName, action] = match
    const zone = store.zones.find((name, index) => [name, String(index + 1)].includes(zoneIdOrName))
    if (zone === undefined) return fail(404, 'not_found', 'zone not found')
    if (relativeName === undefined) {
      expect(method === 'GET', 'no such method')
      return {
        status: 200,
        body: { zone: { id: store.zones.indexOf(zone) + 1, name: zone, mode: 'primary' } },
      }
    }
    const name = relativeName === '@' ? zone : `${decodeURIComponent(relativeName)}.${zone}`
    const existing = store.recordsOf(name)
    if (action === undefined) {
      expect(method === 'GET', 'no such method')
      if (existing.length === 0) return fail(404, 'not_found', 'rrset not found')
      const records = existing.map(({ value }) => ({ value: `"${value}"`, comment: '' }))
      return {
        status: 200,
        body: { rrset: { id: `${relativeName}/TXT`, type: 'TXT', ttl: existing[0]!.ttl, records } },
      }
    }
    expect(method === 'POST', 'no such method')
    return action === 'add_records' ? add(request, zone, name) : remove(request, action, name)
  }

  function add(request: ApiRequest, zone: string, name: string): ApiReply {
    const existing = store.recordsOf(name)
    const fields = existing.length === 0 ? ['records', 'ttl'] : ['records']
    const body = readJsonBody<{ ttl?: number; records: { value: string }[] }>(request, fields)
    expect(body.ttl === undefined || body.ttl >= 60, `the ttl is ${body.ttl}`)
    const values = body.records.map(({ value }) => readQuoted(value))
    if (existing.some(({ value }) => values.includes(value)))
      return fail(422, 'invalid_input', 'invalid input in field records: duplicate value')
    for (const value of values) store.add(zone, name, value, body.ttl ?? existing[0]!.ttl)
    return { status: 201, body: { action: { id: 1, command: 'add_rrset_records', status: 'running' } } }
  }

  function remove(request: ApiRequest, action: string, name: string): ApiReply {
    expect(action === 'remove_records', 'no such action')
    const { records } = readJsonBody<{ records: { value: string }[] }>(request, ['records'])
    const values = records.map(({ value }) => readQuoted(value))
    const existing = store.recordsOf(name).map(({ value }) => value)
    if (!values.every((value) => existing.includes(value)))
      return fail(422, 'invalid_input', 'invalid input in field records: no such value')
    store.remove((record) => record.name === name && values.includes(record.value))
    return { status: 201, body: { action: { id: 2, command: 'remove_rrset_records', status: 'running' } } }
  }

  const { url, base } = await startApiStandIn(t, store, serve)
  const variables = { HCLOUD_TOKEN: TOKEN, HCLOUD_ENDPOINT: `${url}/v1` }
  return Object.assign(base, {
    variables,
    invalidVariables: { ...variables, HCLOUD_TOKEN: 'other' },
    invalidMessage:
      /Hetzner answered GET \/v1\/zones\/\S+ with 401: the provided token is invalid \(unauthorized\)\./,
  })
}

function fail(status: number, code: string, message: string): ApiReply {
  return { status, body: { error: { code, message, details: null } } }
}
