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

const TOKEN = 'cloudflare-token'

/** Cloudflare's API v4, as its reference documents it. */
export async function startCloudflare(t: TestContext, options: StandInOptions): Promise<ApiStandIn> {
  const store = new RecordStore(options)
  const idOf = (zone: string) => Buffer.from(zone).toString('hex').padEnd(32, '0').slice(0, 32)

  function serve(request: ApiRequest): ApiReply {
    const { method, path, query, headers } = request
    if (headers.authorization !== `Bearer ${TOKEN}`) return fail(403, 9109, 'Invalid access token')
    if (method === 'GET' && path === '/client/v4/zones') {
      expect(Object.keys(query).join() === 'name', `query is ${JSON.stringify(query)}`)
      return succeed(
        store.zones.filter((zone) => zone === query.name).map((name) => ({ id: idOf(name), name })),
      )
    }
    const [, zoneId, recordId] =
      /^\/client\/v4\/zones\/([0-9a-f]{32})\/dns_records(?:\/(\d+))?$/.exec(path) ?? []
    const zone = store.zones.find((each) => idOf(each) === zoneId)
    expect(zone !== undefined, 'no such path or zone')
    if (method === 'GET') {
      expect(query.type === 'TXT' && Number(query.per_page) <= 5_000_000, `query is ${JSON.stringify(query)}`)
      const records = store.recordsOf(query.name ?? '').filter((record) => record.zone === zone)
      return succeed(
        records.map(({ id, name, value, ttl }) => ({
          id: String(id),
          type: 'TXT',
          name,
          content: `"${value}"`,
          ttl,
        })),
      )
    }
    if (method === 'POST') {
      const body = readJsonBody<{ type: string; name: string; content: string; ttl: number }>(request, [
        'type',
        'name',
        'content',
        'ttl',
      ])
      expect(body.type === 'TXT' && body.name.endsWith(`.${zone}`) && body.ttl >= 60, JSON.stringify(body))
      const value = readQuoted(body.content)
      if (store.recordsOf(body.name).some((record) => record.value === value))
        return fail(400, 81058, 'An identical record already exists.')
      const { id } = store.add(zone, body.name, value, body.ttl)
      return succeed({ id: String(id), name: body.name, content: body.content })
    }
    expect(method === 'DELETE' && recordId !== undefined, 'no such method')
    store.remove((record) => record.id === Number(recordId) && record.zone === zone)
    return succeed({ id: recordId })
  }

  const { url, base } = await startApiStandIn(t, store, serve)
  const variables = { CLOUDFLARE_API_TOKEN: TOKEN, CLOUDFLARE_BASE_URL: `${url}/client/v4` }
  return Object.assign(base, {
    variables,
    invalidVariables: { ...variables, CLOUDFLARE_API_TOKEN: 'other' },
    invalidMessage: /Cloudflare answered GET \/client\/v4\/zones with 403: Invalid access token \(9109\)\./,
  })
}

function succeed(result: unknown): ApiReply {
  return { status: 200, body: { success: true, errors: [], messages: [], result } }
}

function fail(status: number, code: number, message: string): ApiReply {
  return { status, body: { success: false, errors: [{ code, message }], messages: [], result: null } }
}
