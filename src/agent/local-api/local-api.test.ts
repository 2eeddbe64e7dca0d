import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get as httpGet, type IncomingMessage } from 'node:http'
import { connect, createServer } from 'node:net'
import { type TestContext, test } from 'node:test'
import { zstdCompressSync } from 'node:zlib'
import { eventually } from '../../../test/support/eventually.ts'
import { ProtocolError } from '../../protocol/index.ts'
import { startAgent, testSettings } from '../testing/agent.ts'
import { TestGateway } from '../testing/gateway.ts'
import { call, startAgentWithApi, startHttpService } from '../testing/local-api.ts'
import { startLocalApi } from './local-api.ts'

type Json = Record<string, unknown>
type Exchange = Json & { request: Json; response: Json }

const list = (response: { json: Json }, key: string) => response.json[key] as unknown[]

const hello =
  (text = 'hello') =>
  (_request: IncomingMessage, response: { end(text: string): void }) =>
    response.end(text)

test('a tunnel is started, shown, listed and stopped', async (t) => {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, hello())

  const created = await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: Number(addr) })

  assert.equal(created.status, 201)
  const { name, ID, uri, public_url, proto, config, metrics } = created.json
  assert.deepEqual(Object.keys(created.json), [
    'name',
    'ID',
    'uri',
    'public_url',
    'proto',
    'config',
    'metrics',
  ])
  assert.equal(name, 'web')
  assert.match(String(ID), /^[0-9a-f]{32}$/)
  assert.equal(uri, '/api/tunnels/web')
  assert.match(String(public_url), /^https:\/\/n\d+\.test$/)
  assert.equal(proto, 'https')
  assert.deepEqual(config, { addr: `http://localhost:${addr}`, inspect: true })
  const timing = { count: 0, rate1: 0, rate5: 0, rate15: 0, p50: 0, p90: 0, p95: 0, p99: 0 }
  assert.deepEqual(metrics, { conns: { ...timing, gauge: 0 }, http: timing })

  assert.deepEqual((await api.get('/api/tunnels/web')).json, created.json)
  assert.deepEqual((await api.get('/api/tunnels')).json, { tunnels: [created.json], uri: '/api/tunnels' })

  const deleted = await api.delete('/api/tunnels/web', {})
  assert.equal(deleted.status, 204)
  assert.equal(deleted.text, '')
  assert.deepEqual((await api.get('/api/tunnels')).json, { tunnels: [], uri: '/api/tunnels' })
  assert.equal((await api.get('/api/tunnels/web')).status, 404)
})

test('responses end with a newline and have no headers beyond type, length and date', async (t) => {
  const api = await startAgentWithApi(t)

  const { headers, text } = await api.get('/api/tunnels')

  assert.ok(text.endsWith('}\n'))
  assert.deepEqual(Object.keys(headers).sort(), ['content-length', 'content-type', 'date'])
  assert.equal(headers['content-type'], 'application/json')
})

test('tcp, tls and labelled tunnels look as clients expect', async (t) => {
  const api = await startAgentWithApi(t)

  const tcp = (await api.post('/api/tunnels', { name: 'ssh', proto: 'tcp', addr: '22' })).json as Json
  const tls = (await api.post('/api/tunnels', { name: 'tls', proto: 'tls', addr: 443, hostname: 'a.test' }))
    .json as Json
  const labelled = (await api.post('/api/tunnels', { name: 'l', labels: ['a=b'], addr: 80 })).json as Json

  assert.match(String(tcp.public_url), /^tcp:\/\/tcp\.test:\d+$/)
  assert.equal(tcp.proto, 'tcp')
  assert.deepEqual(tcp.config, { addr: 'localhost:22', inspect: false })
  assert.equal(tls.public_url, 'tls://a.test')
  assert.deepEqual(tls.config, { addr: 'tls://localhost:443', inspect: false })
  assert.equal(labelled.public_url, '')
  assert.equal(list(await api.get('/api/tunnels'), 'tunnels').length, 3)
})

test('two schemes create two tunnels, and names with spaces and brackets work in paths', async (t) => {
  const api = await startAgentWithApi(t)

  const first = await api.post('/api/tunnels', {
    name: 'web',
    proto: 'http',
    addr: 80,
    schemes: ['http', 'https'],
  })
  const { tunnels } = (await api.get('/api/tunnels')).json as { tunnels: Json[] }

  assert.equal((first.json as Json).proto, 'https')
  assert.deepEqual(
    tunnels.map((tunnel) => [tunnel.name, tunnel.proto, tunnel.uri]),
    [
      ['web', 'https', '/api/tunnels/web'],
      ['web (http)', 'http', '/api/tunnels/web%20%28http%29'],
    ],
  )
  assert.equal((await api.delete('/api/tunnels/web%20%28http%29')).status, 204)
  assert.equal(list(await api.get('/api/tunnels'), 'tunnels').length, 1)
})

test('a tunnel without a name has an empty one', async (t) => {
  const api = await startAgentWithApi(t)

  const { json } = await api.post('/api/tunnels', { proto: 'http', addr: 80 })

  assert.equal((json as Json).name, '')
  assert.equal((json as Json).uri, '/api/tunnels/')
  assert.equal((await api.delete('/api/tunnels/')).status, 204)
})

const INVALID: [title: string, body: unknown, err: RegExp][] = [
  ['an unknown protocol', { proto: 'x', addr: 80 }, /Invalid protocol name 'x'/],
  ['an unknown field', { proto: 'http', addr: 80, adr: 1 }, /unknown key "adr"; did you mean "addr"/],
  ['a wrong type', { proto: 'http', addr: 80, inspect: 'perhaps' }, /inspect must be true or false/],
  ['a missing address', { proto: 'http' }, /"addr" is required/],
  ['a body that is not an object', [1], /JSON object/],
  ['a hostile name', { proto: 'http', addr: 80, subdomain: { __proto__: 1 } }, /subdomain must be a string/],
]

for (const [title, body, err] of INVALID) {
  test(`${title} is rejected with 102`, async (t) => {
    const api = await startAgentWithApi(t)

    const { status, json } = await api.post('/api/tunnels', body)

    assert.equal(status, 400)
    assert.deepEqual(
      { ...json, details: undefined },
      {
        error_code: 102,
        status_code: 400,
        msg: 'invalid tunnel configuration',
        details: undefined,
      },
    )
    assert.match((json.details as { err: string }).err, err)
  })
}

test('a name already in use is rejected with 102', async (t) => {
  const api = await startAgentWithApi(t)
  await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: 80 })

  const { status, json } = await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: 80 })

  assert.equal(status, 400)
  assert.deepEqual(json.details, { err: 'tunnel "web" already exists' })
  assert.match(api.lines.join(''), /lvl=warn msg="invalid tunnel configuration"/)
})

test('a bind error of the server is 103 with its cause and code, and frees the name', async (t) => {
  const api = await startAgentWithApi(t)
  api.gateway.bindError = new ProtocolError('https://a.test is already online.', 334)

  const { status, json } = await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: 80 })

  assert.equal(status, 502)
  assert.equal(json.error_code, 103)
  assert.equal(json.msg, 'failed to start tunnel')
  assert.deepEqual(json.details, {
    err: 'failed to start tunnel: https://a.test is already online.\n\nERR_ADIT_334\n',
  })
  api.gateway.bindError = undefined
  assert.equal((await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: 80 })).status, 201)
})

test('a start during session setup waits for the session', async (t) => {
  const gateway = await TestGateway.start(t)
  let open = () => {}
  gateway.authGate = new Promise((resolve) => {
    open = resolve
  })
  const { agent } = startAgent(t, gateway)
  const api = await startLocalApi(agent, agent.settings.web!)
  t.after(() => api.close())

  const start = call(
    api.url,
    'POST',
    '/api/tunnels',
    { 'Content-Type': 'application/json' },
    '{"proto":"http","addr":80}',
  )
  const statusBefore = await call(api.url, 'GET', '/api/status')
  open()

  assert.equal(statusBefore.json.status, 'connecting')
  assert.equal((await start).status, 201)
})

test('a start without a session is 104 with the text clients expect, and frees the name', async (t) => {
  const gateway = await TestGateway.start(t)
  gateway.stop()
  const { agent } = startAgent(t, gateway)
  const api = await startLocalApi(agent, agent.settings.web!)
  t.after(() => api.close())
  const post = () =>
    call(
      api.url,
      'POST',
      '/api/tunnels',
      { 'Content-Type': 'application/json' },
      '{"name":"w","proto":"http","addr":80}',
    )

  const { status, json } = await post()

  assert.equal(status, 503)
  assert.equal(json.error_code, 104)
  assert.deepEqual(json.details, { err: 'a successful ngrok tunnel session has not yet been established' })
  await gateway.listen(gateway.port)
  assert.equal((await post()).status, 201)
})

test('status contains the session, the version and the latency', async (t) => {
  const api = await startAgentWithApi(t)
  await api.agent.connection.session(5000)
  await eventually(() => api.agent.connection.latencyMs !== undefined)

  const { json } = await api.get('/api/status')

  assert.equal(json.status, 'online')
  assert.match(String(json.agent_version), /^\d+\.\d+\.\d+/)
  const [leg] = (json.session as { legs: Json[] }).legs
  assert.equal(leg?.region, 'eu')
  assert.match(String(leg?.latency), /^\d+ms$/)
  assert.match(String(leg?.address), /^localhost:\d+$/)
  assert.equal(leg?.streams, 0)
  assert.equal(json.uri, '/api/status')
})

test('captured requests are listed newest first with exact bytes, by tunnel and limit', async (t) => {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, (_request, response) => {
    response.setHeader('X-Twice', ['a', 'b'])
    response.end('body')
  })
  const { public_url } = (await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })).json as Json
  const rawRequest = 'POST /a?b=c HTTP/1.1\r\nHost: x\r\nx-one: 1\r\nX-One: 2\r\nContent-Length: 3\r\n\r\nabc'
  await api.gateway.request(String(public_url), rawRequest)
  const received = await api.gateway.request(String(public_url), rawRequest.replace('/a?b=c', '/second'))

  const { json } = await api.get('/api/requests/http')

  assert.equal(json.uri, '/api/requests/http')
  const [second, first] = json.requests as [Exchange, Exchange]
  assert.equal(first.request.uri, '/a?b=c')
  assert.equal(second.request.uri, '/second')
  assert.equal(second.response.raw, Buffer.from(received, 'latin1').toString('base64'))
  assert.ok(String(first.id) < String(second.id))
  assert.equal(first.uri, `/api/requests/http/${first.id}`)
  assert.equal(first.tunnel_name, 'web')
  assert.equal(first.remote_addr, '203.0.113.9')
  assert.match(String(first.start), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+([+-]\d\d:\d\d|Z)$/)
  assert.ok(Number.isInteger(first.duration) && Number(first.duration) > 0)
  assert.equal(first.request.method, 'POST')
  assert.equal(first.request.proto, 'HTTP/1.1')
  assert.deepEqual((first.request.headers as Json)['X-One'], ['1', '2'])
  assert.equal(first.request.raw, Buffer.from(rawRequest).toString('base64'))
  assert.equal(first.response.status, '200 OK')
  assert.equal(first.response.status_code, 200)
  assert.equal(first.response.proto, 'HTTP/1.1')
  assert.deepEqual((first.response.headers as Json)['X-Twice'], ['a', 'b'])

  assert.deepEqual((await api.get(`/api/requests/http/${first.id}`)).json, first)
  assert.equal(list(await api.get('/api/requests/http?limit=1'), 'requests').length, 1)
  assert.equal(list(await api.get('/api/requests/http?tunnel_name=web'), 'requests').length, 2)
  assert.deepEqual(list(await api.get('/api/requests/http?tunnel_name=other'), 'requests'), [])
  assert.equal((await api.get('/api/requests/http?limit=x')).status, 400)
  assert.equal((await api.get('/api/requests/http/airt_none')).status, 404)

  const http = ((await api.get('/api/tunnels/web')).json as { metrics: { http: Json; conns: Json } }).metrics
  assert.equal(http.http.count, 2)
  assert.equal(http.conns.count, 2)
  assert.ok(Number(http.http.p50) > 1000)

  assert.equal((await api.delete('/api/requests/http')).status, 204)
  assert.deepEqual(list(await api.get('/api/requests/http'), 'requests'), [])
})

test('a request in flight is listed without a response', async (t) => {
  const api = await startAgentWithApi(t)
  let finish = () => {}
  const addr = await startHttpService(t, (_request, response) => {
    finish = () => response.end('late')
  })
  const { public_url } = (await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })).json as Json
  const response = api.gateway.request(String(public_url), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => api.agent.captures.size === 1)

  const [inFlight] = list(await api.get('/api/requests/http'), 'requests') as Json[]

  assert.equal(inFlight?.response, null)
  assert.equal(inFlight?.in_flight, true)
  await eventually(() => finish.toString().includes('late'))
  finish()
  await response
})

test('a replay goes to the same upstream or another, and is captured when the call returns', async (t) => {
  const api = await startAgentWithApi(t)
  const requests: string[] = []
  const service = (name: string) =>
    startHttpService(t, (request, response) => {
      let body = ''
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () => {
        requests.push(`${name} ${request.method} ${request.url} ${request.headers['x-a']} ${body}`)
        response.end('done')
      })
    })
  await api.post('/api/tunnels', { name: 'other', proto: 'http', addr: await service('other') })
  const { public_url } = (
    await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: await service('web') })
  ).json as Json
  await api.gateway.request(
    String(public_url),
    'POST /x HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nhi',
  )
  const [{ id }] = list(await api.get('/api/requests/http'), 'requests') as [{ id: string }]

  assert.equal((await api.post('/api/requests/http', { id })).status, 204)
  const [replayed] = list(await api.get('/api/requests/http'), 'requests') as (Json & { request: Json })[]
  assert.equal((await api.post('/api/requests/http', { id, tunnel_name: 'other' })).status, 204)
  assert.equal((await api.post('/api/requests/http', { id, tunnelName: null })).status, 204)
  await eventually(() => requests.length === 4)

  assert.notEqual(replayed?.id, id)
  assert.equal(replayed?.tunnel_name, 'web')
  assert.equal(replayed?.remote_addr, '127.0.0.1')
  assert.equal(replayed?.request.uri, '/x')
  assert.deepEqual(requests.sort(), [
    'other POST /x 1 hi',
    'web POST /x 1 hi',
    'web POST /x 1 hi',
    'web POST /x 1 hi',
  ])
  await eventually(() => api.agent.captures.list().every((capture) => capture.response))
  await eventually(() => api.agent.tunnels.get('web')!.connections.gauge === 0)
})

test('a replay needs a complete captured request and an HTTP tunnel', async (t) => {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, (request, response) => {
    request.resume().on('end', () => response.end('ok'))
  })
  const { public_url } = (await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })).json as Json
  await api.post('/api/tunnels', { name: 'ssh', proto: 'tcp', addr: 22 })
  await api.gateway.request(String(public_url), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [{ id: complete }] = list(await api.get('/api/requests/http'), 'requests') as [{ id: string }]
  const big = 'x'.repeat(1024 * 1024 + 1)
  await api.gateway.request(
    String(public_url),
    `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${big.length}\r\n\r\n${big}`,
  )
  const [{ id: truncated, request }] = list(await api.get('/api/requests/http'), 'requests') as [
    { id: string; request: Json },
  ]

  assert.equal(request.truncated, true)
  assert.equal(request.body_size, big.length)
  assert.match(
    (await api.post('/api/requests/http', { id: truncated })).text,
    /only the beginning of the request was captured/,
  )
  assert.equal((await api.post('/api/requests/http', { id: 'airt_none' })).status, 404)
  assert.equal((await api.post('/api/requests/http', { id: complete, tunnel_name: 'none' })).status, 404)
  assert.equal((await api.post('/api/requests/http', { id: complete, tunnel_name: 'ssh' })).status, 400)
  assert.equal((await api.post('/api/requests/http', {})).status, 400)
})

test('a replay can be sent with changes', async (t) => {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, (request, response) => {
    let body = ''
    request.on('data', (chunk) => {
      body += chunk
    })
    request.on('end', () =>
      response.end(`${request.method} ${request.url} ${request.headers['x-a']} ${body}`),
    )
  })
  const { public_url } = (await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })).json as Json
  await api.gateway.request(
    String(public_url),
    'POST /x HTTP/1.1\r\nHost: x\r\nX-A: 1\r\nContent-Length: 2\r\n\r\nhi',
  )
  const [{ id }] = list(await api.get('/api/requests/http'), 'requests') as [{ id: string }]
  const replay = async (changes: unknown) => {
    const { status, text } = await api.post('/api/requests/http', { id, changes })
    assert.equal(status, 204, text)
    await eventually(() => api.agent.captures.list(1)[0]?.open === false)
    return api.agent.captures.list(1)[0]!.response!.raw().toString().split('\r\n\r\n')[1]!
  }

  assert.equal(await replay({ method: 'PUT', path: '/y?z=1', headers: { 'X-A': '2' } }), 'PUT /y?z=1 2 hi')
  assert.equal(await replay({ body: 'grüße' }), 'POST /x 1 grüße')
  assert.equal(await replay({ body_base64: 'AQI=', headers: [['Host', 'x']] }), 'POST /x undefined \x01\x02')
  assert.equal(await replay(null), 'POST /x 1 hi')
})

test('invalid changes are rejected by name', async (t) => {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, (_request, response) => response.end())
  const { public_url } = (await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })).json as Json
  await api.gateway.request(String(public_url), 'GET / HTTP/1.1\r\nHost: x\r\n\r\n')
  const [{ id }] = list(await api.get('/api/requests/http'), 'requests') as [{ id: string }]

  for (const [changes, reason] of [
    ['GET', /changes must be an object/],
    [{ verb: 'GET' }, /changes has no field \\"verb\\"/],
    [{ method: 1 }, /changes.method must be a string/],
    [{ path: 'x' }, /changes.path must begin with a slash/],
    [{ headers: [['A']] }, /changes.headers must be a list/],
    [{ headers: { A: 1 } }, /changes.headers must be a list/],
    [{ headers: { A: 'b\r\nC: d' } }, /the value of A contains a line break/],
    [{ body: 'a', body_base64: 'YQ==' }, /are mutually exclusive/],
    [{ body_base64: '*' }, /must be padded base64/],
  ] as const) {
    const { status, text } = await api.post('/api/requests/http', { id, changes })
    assert.equal(status, 400, text)
    assert.match(text, reason)
  }
  assert.equal(api.agent.captures.size, 1)
})

test('a body is returned decoded', async (t) => {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, (_request, response) => {
    response.setHeader('Content-Encoding', 'zstd')
    response.end(zstdCompressSync('hello'))
  })
  const { public_url } = (await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })).json as Json
  await api.gateway.request(String(public_url), 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi')
  const [{ uri }] = list(await api.get('/api/requests/http'), 'requests') as [{ uri: string }]

  const { json: responseBody } = await api.get(`${uri}/body`)
  const { json: requestBody } = await api.get(`${uri}/body?side=request`)

  assert.deepEqual(responseBody, {
    uri: `${uri}/body`,
    side: 'response',
    decoded: ['zstd'],
    base64: btoa('hello'),
  })
  assert.deepEqual(requestBody, { uri: `${uri}/body`, side: 'request', decoded: [], base64: btoa('hi') })
  assert.equal((await api.get(`${uri}/body?side=both`)).status, 400)
  assert.equal((await api.get('/api/requests/http/airt_none/body')).status, 404)
})

test('a request is pinned and unpinned, shows where its time went, and a clear can keep pinned ones', async (t) => {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, hello())
  const { public_url } = (await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })).json as Json
  for (const path of ['/one', '/two'])
    await api.gateway.request(String(public_url), `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
  type Captured = { uri: string; pinned: boolean; duration: number; timing: Record<string, number> }
  const requests = async () => list(await api.get('/api/requests/http'), 'requests') as unknown as Captured[]
  await eventually(async () => (await requests()).every(({ timing }) => timing !== undefined))
  const [, { uri, duration, timing }] = (await requests()) as [Captured, Captured]

  assert.equal(timing.request! + timing.wait! + timing.response!, duration)
  assert.ok(Object.values(timing).every((part) => part >= 0))
  assert.equal((await api.put(`${uri}/pin`, {})).status, 204)
  assert.equal(((await api.get(uri)).json as Json).pinned, true)
  await api.delete('/api/requests/http?keep_pinned=true')
  assert.deepEqual(
    (await requests()).map((capture) => capture.uri),
    [uri],
  )
  assert.equal((await api.delete(`${uri}/pin`)).status, 204)
  await api.delete('/api/requests/http?keep_pinned=true')
  assert.deepEqual(await requests(), [])
  assert.equal((await api.put('/api/requests/http/airt_none/pin', {})).status, 404)
})

test('captures are streamed as they happen', async (t) => {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, hello())
  const { public_url } = (await api.post('/api/tunnels', { name: 'web', proto: 'http', addr })).json as Json
  const { headers, text } = await streamRequests(t, api.api.url)

  await api.gateway.request(String(public_url), 'GET /live HTTP/1.1\r\nHost: x\r\n\r\n')
  await eventually(() => text().includes('"status_code":200'))
  await api.delete('/api/requests/http')
  await eventually(() => text().includes('event: clear'))

  assert.equal(headers['content-type'], 'text/event-stream')
  assert.match(text(), /event: request\nid: airt_\w+\ndata: \{.*"uri":"\/live"/)
  assert.match(text(), /event: status\ndata: \{"status":"online"\}/)
  assert.doesNotMatch(text(), /"raw"/)
})

test('captures that are evicted before they are streamed are left out', async (t) => {
  const { api, agent } = await startAgentWithApi(t)
  const { text } = await streamRequests(t, api.url)
  const capture = (path: string) =>
    agent.captures.begin('web', '', Buffer.from(`GET ${path} HTTP/1.1\r\n\r\n`), 0)
  const evicted = capture('/evicted')

  while (evicted.stored) agent.captures.addRequestBody(capture('/stored'), Buffer.alloc(1024 * 1024))

  await eventually(() => text().includes('"uri":"/stored"'))
  assert.ok(!text().includes(evicted.id))
})

/** Opens the stream of captured requests; `text` is what it has sent so far. */
async function streamRequests(t: TestContext, url: string) {
  let text = ''
  const request = httpGet(`${url}/api/requests/http/stream`, { agent: false })
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.on('data', (chunk) => {
    text += chunk
  })
  t.after(() => response.destroy())
  await eventually(() => text.includes('event: ready'))
  return { headers: response.headers, text: () => text }
}

test('the policy of an endpoint is an object, however it was given', async (t) => {
  const api = await startAgentWithApi(t)
  const policy = { on_http_request: [{ actions: [{ type: 'deny' }] }] }
  const yaml = 'on_http_request:\n  - actions:\n      - type: deny\n'

  for (const traffic_policy of [policy, JSON.stringify(policy), yaml]) {
    const { json } = await api.put('/api/endpoints/web', { upstream: { url: '3000' }, traffic_policy })
    assert.deepEqual((json as Json).traffic_policy, policy)
  }
})

test('endpoints are another view of the tunnels', async (t) => {
  const api = await startAgentWithApi(t)
  const body = { name: 'web', url: 'https://app.test', upstream: { url: '3000' }, metadata: 'm' }

  const created = await api.post('/api/endpoints', body)
  assert.equal(created.status, 201)
  const view = created.json as Json
  assert.equal(view.uri, '/api/endpoints/web')
  assert.equal(view.url, 'https://app.test')
  assert.deepEqual(view.upstream, { url: '3000', protocol: 'http1' })
  assert.equal(view.inspect, true)
  assert.deepEqual([view.pooling_enabled, view.pooling_weight], [false, 1])
  assert.ok(view.metrics)
  assert.equal(view.traffic_policy, null)
  assert.equal(view.public_url, view.url)
  assert.deepEqual(view.config, { addr: 'http://localhost:3000', inspect: true })

  assert.equal(list(await api.get('/api/tunnels'), 'tunnels').length, 1)
  assert.equal(list(await api.get('/api/endpoints'), 'endpoints').length, 1)

  const replaced = await api.put('/api/endpoints/web', {
    url: 'https://other.test',
    upstream: { url: 'localhost:4000' },
  })
  assert.equal(replaced.status, 200)
  assert.equal((replaced.json as Json).url, 'https://other.test')
  assert.equal((await api.put('/api/endpoints/new', { upstream: { url: '1' } })).status, 201)
  assert.equal((await api.put('/api/endpoints/web', { name: 'x', upstream: { url: '1' } })).status, 400)
  assert.equal(
    (await api.post('/api/endpoints', { name: 'bad', url: 'https://a/b', upstream: { url: '1' } })).status,
    400,
  )
  assert.equal((await api.get('/api/endpoints/none')).status, 404)
  assert.equal((await api.delete('/api/endpoints/web')).status, 204)
})

test('an endpoint that cannot be replaced stays unchanged', async (t) => {
  const api = await startAgentWithApi(t)
  await api.post('/api/endpoints', { name: 'web', url: 'https://app.test', upstream: { url: '3000' } })
  const { gateway } = api
  gateway.nextBindError = new ProtocolError('not allowed', 316)

  const { status } = await api.put('/api/endpoints/web', {
    url: 'https://forbidden.test',
    upstream: { url: '1' },
  })

  assert.equal(status, 502)
  assert.equal(((await api.get('/api/endpoints/web')).json as Json).url, 'https://app.test')
})

test('an endpoint keeps its id and its address, whether replacing it succeeds or fails', async (t) => {
  const api = await startAgentWithApi(t)
  const { json: before } = await api.post('/api/endpoints', { name: 'web', upstream: { url: '3000' } })

  const { json: replaced } = await api.put('/api/endpoints/web', { upstream: { url: '4000' } })
  assert.deepEqual(replaced.upstream, { url: '4000', protocol: 'http1' })
  assert.deepEqual([replaced.id, replaced.url], [before.id, before.url])

  api.gateway.nextBindError = new ProtocolError('not allowed', 316)
  assert.equal((await api.put('/api/endpoints/web', { upstream: { url: '5000' } })).status, 502)
  const { json: unchanged } = await api.get('/api/endpoints/web')
  assert.deepEqual(
    [unchanged.id, unchanged.url, unchanged.upstream],
    [before.id, before.url, replaced.upstream],
  )

  api.gateway.stop()
  await eventually(() => api.agent.connection.status !== 'online')
  assert.equal((await api.put('/api/endpoints/web', { upstream: { url: '5000' } })).status, 503)
  assert.equal((await api.get('/api/endpoints/web')).status, 200)
})

test('a tunnel whose requests are not captured reports inspect false', async (t) => {
  const api = await startAgentWithApi(t, {}, { captureBytes: 0 })
  const http2Tunnel = { proto: 'http', addr: 80, app_protocol: 'http2' }

  const created = await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: 80, inspect: true })

  assert.deepEqual(created.json.config, { addr: 'http://localhost:80', inspect: false })
  assert.match(
    api.lines.join(''),
    /lvl=warn msg="ignoring inspect: true because inspection database is disabled" name=web/,
  )
  assert.equal((await api.get('/api/status')).json.inspect_db_size, -1)
  const inspecting = await startAgentWithApi(t)
  const { json } = await inspecting.post('/api/tunnels', { name: 'h2', ...http2Tunnel })
  assert.equal((json.config as Json).inspect, false)
})

test('every rejected definition is logged', async (t) => {
  const api = await startAgentWithApi(t)

  await api.post('/api/tunnels', { proto: 'bogus', addr: 80 })
  await api.post('/api/tunnels', { prto: 'http' })
  await api.post('/api/endpoints', { name: 'x' })

  const lines = api.lines.join('').match(/msg="invalid tunnel configuration" pg=\S+ id=\w+ err=/g)
  assert.deepEqual(
    lines?.map((line) => /pg=(\S+)/.exec(line)?.[1]),
    ['/api/tunnels', '/api/tunnels', '/api/endpoints'],
  )
})

test('an absolute-form target is accepted, and a duplicate Host is rejected', async (t) => {
  const { api } = await startAgentWithApi(t)
  const send = async (text: string) => {
    const socket = connect(Number(new URL(api.url).port), '127.0.0.1')
    socket.end(text)
    let response = ''
    for await (const chunk of socket.setEncoding('utf8')) response += chunk
    return Number(response.slice(9, 12))
  }

  const headers = 'Host: localhost\r\nConnection: close\r\n'
  assert.equal(await send(`GET ${api.url}/api/tunnels?limit=99999999999 HTTP/1.1\r\n${headers}\r\n`), 200)
  assert.equal(await send(`GET /api/tunnels HTTP/1.1\r\n${headers}Host: evil.example\r\n\r\n`), 400)
})

test('unknown paths are 404, other methods 405 with the allowed ones', async (t) => {
  const api = await startAgentWithApi(t)

  assert.equal((await api.get('/api/nothing')).status, 404)
  assert.equal((await api.get('/api/tunnels/%ff')).status, 400)
  const put = await api.put('/api/tunnels', {})
  assert.equal(put.status, 405)
  assert.equal(put.headers.allow, 'GET, POST')
  assert.equal(put.json.status_code, 405)
  assert.equal(((await api.get('/api/')).json as Json).tunnels_uri, '/api/tunnels')
})

test('bodies must be JSON and within the size limit', async (t) => {
  const api = await startAgentWithApi(t)
  const post = (type: string, body: string) =>
    call(api.api.url, 'POST', '/api/tunnels', { 'Content-Type': type }, body)

  assert.equal((await post('text/plain', '{"proto":"http","addr":80}')).status, 415)
  assert.equal((await post('application/x-www-form-urlencoded', 'proto=http')).status, 415)
  assert.equal((await post('application/json', '{"proto":')).status, 400)
  assert.equal(
    (await post('application/json', JSON.stringify({ metadata: 'x'.repeat(1024 * 1024) }))).status,
    413,
  )
  assert.equal((await post('application/json; charset=utf-8', '{"proto":"http","addr":80}')).status, 201)
})

test('every call is logged at its start and its end', async (t) => {
  const api = await startAgentWithApi(t)

  await api.get('/api/tunnels')
  await eventually(() => api.lines.join('').includes('msg=end'))

  assert.match(api.lines.join(''), /lvl=info msg=start pg=\/api\/tunnels id=\w+\n/)
  assert.match(api.lines.join(''), /lvl=info msg=end pg=\/api\/tunnels id=\w+ status=200 dur=[\d.]+ms/)
})

test('the pages are served even if they have not been built', async (t) => {
  const api = await startAgentWithApi(t)

  const root = await api.get('/')
  assert.equal(root.status, 302)
  assert.equal(root.headers.location, '/inspect/http')
  for (const path of ['/inspect/http', '/status']) {
    const page = await api.get(path)
    assert.equal(page.status, 200)
    assert.match(String(page.headers['content-type']), /text\/html/)
    assert.match(String(page.headers['content-security-policy']), /frame-ancestors 'none'/)
  }
  for (const path of ['/../package.json', '/..%2fpackage.json', '/.env', '/a/../../x']) {
    assert.equal((await api.get(path)).status, 404, path)
  }
})

test('a busy default port is replaced by the next one, a busy configured port is an error', async (t) => {
  const gateway = await TestGateway.start(t)
  const busy = createServer().listen(0, '127.0.0.1')
  await once(busy, 'listening')
  t.after(() => busy.close())
  const { port } = busy.address() as { port: number }
  const { agent, lines } = startAgent(t, gateway, { settings: testSettings(gateway) })
  const settings = { host: '127.0.0.1', port, explicit: false, allowHosts: [] }

  const api = await startLocalApi(agent, settings)
  t.after(() => api.close())

  assert.ok(Number(api.address.split(':')[1]) > port)
  assert.match(lines.join(''), /lvl=warn msg="can't bind default web address, trying alternatives" obj=web/)
  assert.match(
    lines.join(''),
    new RegExp(`msg="starting web service" obj=web addr=${api.address} allow_hosts=\\[\\]`),
  )
  await assert.rejects(
    startLocalApi(agent, { ...settings, explicit: true }),
    new RegExp(`127\\.0\\.0\\.1:${port}: bind: address already in use`),
  )
})

test('the log names the local API by the host that was configured', async (t) => {
  const gateway = await TestGateway.start(t)
  const { agent, lines } = startAgent(t, gateway, { settings: testSettings(gateway) })
  const api = await startLocalApi(agent, { host: 'localhost', port: 0, explicit: true, allowHosts: [] })
  t.after(() => api.close())

  const [host, port] = api.address.split(':')
  assert.equal(host, '127.0.0.1')
  assert.match(lines.join(''), new RegExp(`msg="starting web service" obj=web addr=localhost:${port} `))
})

test('captured requests are listed page by page, without their bytes on request', async (t) => {
  const api = await startAgentWithApi(t)
  const addr = await startHttpService(t, hello())
  const { json } = await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: Number(addr) })
  for (const path of ['/1', '/2', '/3']) {
    await api.gateway.request(String(json.public_url), `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
  }
  const toPaths = (requests: unknown[]) => (requests as Exchange[]).map(({ request }) => request.uri)

  const firstPage = list(await api.get('/api/requests/http?limit=2&summary=true'), 'requests') as Exchange[]
  const nextPage = list(
    await api.get(`/api/requests/http?before_id=${firstPage[1]!.id}`),
    'requests',
  ) as Exchange[]

  assert.deepEqual(toPaths(firstPage), ['/3', '/2'])
  assert.equal(firstPage[0]!.request.raw, undefined)
  assert.deepEqual(toPaths(nextPage), ['/1'])
  assert.equal(typeof nextPage[0]!.request.raw, 'string')
})
