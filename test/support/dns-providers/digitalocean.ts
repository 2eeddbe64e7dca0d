import type { TestContext } from 'node:test'
import {
  type ApiReply,
  type ApiRequest,
  type ApiStandIn,
  expect,
  RecordStore,
  readJsonBody,
  type StandInOptions,
  type StoredRecord,
  startApiStandIn,
} from './stand-in.ts'

const TOKEN = 'dop_v1_token'

/** DigitalOcean's API v2, as its reference documents it. */
export async function startDigitalOcean(t: TestContext, options: StandInOptions): Promise<ApiStandIn> {
  const store = new RecordStore(options)
  const render = ({ id, zone, name, value, ttl }: StoredRecord) => ({
    id,
    type: 'TXT',
    name: name === zone ? '@' : name.slice(0, -zone.length - 1),
    data: value,
    ttl,
  })

  function serve(request: ApiRequest): ApiReply {
    const { method, path, query, headers } = request
    if (headers.authorization !== `Bearer ${TOKEN}`)
      return fail(401, 'Unauthorized', 'Unable to authenticate you')
    const [, zone, records, id] = /^\/v2\/domains\/([^/]+)(\/records)?(?:\/(\d+))?$/.exec(path) ?? []
    expect(zone !== undefined, 'no such path')
    if (!store.zones.includes(zone))
      return fail(404, 'not_found', 'The resource you requested could not be found.')
    if (records === undefined) return { status: 200, body: { domain: { name: zone, ttl: 1800 } } }
    if (method === 'GET') {
      expect(query.type === 'TXT' && Number(query.per_page) <= 200, `query is ${JSON.stringify(query)}`)
      const { name = '' } = query
      expect(name.endsWith(zone), 'the filter takes a complete name')
      return { status: 200, body: { domain_records: store.recordsOf(name).map(render) } }
    }
    if (method === 'POST') {
      const body = readJsonBody<{ type: string; name: string; data: string; ttl: number }>(request, [
        'type',
        'name',
        'data',
        'ttl',
      ])
      expect(body.type === 'TXT' && !body.name.endsWith(zone) && body.ttl >= 30, JSON.stringify(body))
      const record = store.add(zone, body.name === '@' ? zone : `${body.name}.${zone}`, body.data, body.ttl)
      return { status: 201, body: { domain_record: render(record) } }
    }
    expect(method === 'DELETE' && id !== undefined, 'no such method')
    store.remove((record) => record.id === Number(id) && record.zone === zone)
    return { status: 204 }
  }

  const { url, base } = await startApiStandIn(t, store, serve)
  const variables = { DIGITALOCEAN_ACCESS_TOKEN: TOKEN, DIGITALOCEAN_API_URL: url }
  return Object.assign(base, {
    variables,
    invalidVariables: { ...variables, DIGITALOCEAN_ACCESS_TOKEN: 'other' },
    invalidMessage: /DigitalOcean answered GET \/v2\/domains\/\S+ with 401: Unable to authenticate you\./,
  })
}

function fail(status: number, id: string, message: string): ApiReply {
  return { status, body: { id, message } }
}
