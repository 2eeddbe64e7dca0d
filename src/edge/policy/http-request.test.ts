import assert from 'node:assert/strict'
import { createServer, type RequestListener } from 'node:http'
import { type TestContext, test } from 'node:test'
import { connect } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { eventually } from '../../../test/support/eventually.ts'
import { listen, startHttp } from '../../../test/support/local-server.ts'
import { openRawClient } from '../../../test/support/raw-client.ts'
import { createOutbound } from '../../base/outbound/outbound.ts'
import { OUTBOUND_CALL_LIMITS } from '../services/outbound-calls.ts'
import { startEdge } from '../testing/edge.ts'
import { HTTP_VERSIONS, POLICY_HOST, startPolicyEndpoint } from '../testing/policy-endpoint.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'
import { acceptUpgrade, upgradeRequest } from '../testing/web-socket.ts'

/** The server that policies call. */
async function startService(t: TestContext) {
  const calls: { method: string; url: string; headers: Record<string, unknown>; body: string }[] = []
  const port = await startHttp(t, async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    const { method = '', url = '', headers } = request
    calls.push({ method, url, headers, body })
    if (url === '/moved') response.writeHead(302, { location: '/final' }).end()
    else if (url === '/away') response.writeHead(307, { location: `http://localhost:${port}/final` }).end()
    else if (url === '/fails-once') response.writeHead(calls.length === 1 ? 500 : 200).end('better')
    else if (url === '/large') response.end(Buffer.alloc(OUTBOUND_CALL_LIMITS.maxBytes + 1))
    else if (url === '/bomb')
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(10_000_000)))
    else if (url === '/gzip') response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync('clear'))
    else if (url === '/never') return
    else response.writeHead(200, { 'x-role': 'admin' }).end(JSON.stringify({ allow: url !== '/no' }))
  })
  return { url: `http://127.0.0.1:${port}`, calls }
}

function createClient(t: TestContext) {
  const outbound = createOutbound({ allow: ['127.0.0.1', 'localhost'], ...OUTBOUND_CALL_LIMITS })
  t.after(() => outbound.close())
  return outbound
}

interface Setup {
  readonly phase?: 'on_http_request' | 'on_http_response'
  /** Rules that follow the call. */
  readonly rules?: readonly object[]
  readonly listener?: RequestListener
}

async function startEndpoint(t: TestContext, config: object, { phase, rules = [], listener }: Setup = {}) {
  const policy = {
    [phase ?? 'on_http_request']: [{ actions: [{ type: 'http-request', config }] }, ...rules],
  }
  const policyOutbound = createClient(t)
  return startPolicyEndpoint(t, JSON.stringify(policy), {
    dependencies: { policyOutbound },
    ...(listener !== undefined && { listener }),
  })
}

const respond = (body: string, ...expressions: string[]) => ({
  expressions,
  actions: [{ type: 'custom-response', config: { body } }],
})

const RESULTS = 'actions.ngrok.http_request'

for (const version of HTTP_VERSIONS)
  test(`http-request sends what its fields say and shows the response to later rules (${version})`, async (t) => {
    const { url, calls } = await startService(t)
    const { ask } = await startEndpoint(
      t,
      {
        url: `${url}/check?a=1`,
        method: 'POST',
        query_params: [{ key: 'path', value: '${req.url.path}' }],
        headers: { 'X-User': '${conn.client_ip}' },
        body: '{"method": "${req.method}"}',
      },
      {
        rules: [
          respond(
            `\${${RESULTS}.res.header['x-role'][0]} \${${RESULTS}.req.method} \${size(${RESULTS}.attempts)}`,
            `json.decode(${RESULTS}.res.body).allow == true && ${RESULTS}.res.status_code == 200`,
          ),
        ],
      },
    )

    const response = await ask({ path: '/shop', method: 'PUT', body: 'x' }, version)

    assert.equal(response.text, 'admin POST 1')
    const { method, url: called, headers, body } = calls[0]!
    assert.deepEqual([method, called, body], ['POST', '/check?a=1&path=%2Fshop', '{"method": "PUT"}'])
    assert.deepEqual(
      [headers['x-user'], headers['x-forwarded-for'], headers['ngrok-req-type']],
      ['127.0.0.1', '127.0.0.1', 'http-request'],
    )
  })

for (const version of HTTP_VERSIONS)
  test(`http-request holds a response until the call is done (${version})`, async (t) => {
    const { url } = await startService(t)
    const content = 'x'.repeat(300_000)
    const { ask } = await startEndpoint(
      t,
      { url: `${url}/check` },
      {
        phase: 'on_http_response',
        rules: [
          {
            actions: [
              {
                type: 'add-headers',
                config: { headers: { 'x-role': `\${${RESULTS}.res.header['x-role'][0]}` } },
              },
            ],
          },
        ],
        listener: (_request, response) => response.end(content),
      },
    )

    for (const method of ['GET', 'HEAD', 'GET']) {
      const response = await ask({ method }, version)
      assert.deepEqual([response.status, response.headers['x-role']], [200, 'admin'])
      assert.equal(response.text, method === 'HEAD' ? '' : content)
    }
  })

test('http-request holds a WebSocket and what the upstream sends on it', async (t) => {
  const { url, calls } = await startService(t)
  const server = createServer().on('upgrade', (_request, socket) => socket.end(`${acceptUpgrade()}bytes`))
  const trafficPolicy = JSON.stringify({
    on_http_response: [{ actions: [{ type: 'http-request', config: { url } }] }],
  })
  const tunnel = createLocalTunnel(await listen(t, server), { options: { trafficPolicy } })
  const tunnels = new TestTunnels().add(POLICY_HOST, tunnel)
  const { port } = await startEdge(t, tunnels, {}, { policyOutbound: createClient(t) })
  const client = openRawClient(t, port).write(upgradeRequest(POLICY_HOST))
  await client.untilText('bytes')

  assert.match(client.text, /^HTTP\/1\.1 101 /)
  assert.equal(calls.length, 1)
})

test('an upstream that breaks off while its response is held is reported as an error', async (t) => {
  const service = await startService(t)
  const { ask } = await startEndpoint(
    t,
    { url: `${service.url}/never`, timeout: '30s' },
    {
      phase: 'on_http_response',
      listener: (_request, response) => {
        response.writeHead(200, { 'content-length': 10 })
        response.write('half')
        void eventually(() => service.calls.length > 0, 'the call').then(() => response.destroy())
      },
    },
  )

  const response = await ask()

  assert.equal(response.status, 502)
  assert.match(response.text, /ERR_ADIT_8016/)
})

test('a client that leaves while its response is held does not abort the next request of the upstream', async (t) => {
  const service = await startService(t)
  const seen: { readonly url: string; readonly socket: unknown; finish(): void }[] = []
  const policy = {
    on_http_response: [
      {
        expressions: ["req.url.path == '/left'"],
        actions: [{ type: 'http-request', config: { url: `${service.url}/never`, timeout: '30s' } }],
      },
    ],
  }
  const { edge, ask, tlsPort, ca } = await startPolicyEndpoint(t, JSON.stringify(policy), {
    dependencies: { policyOutbound: createClient(t) },
    listener: (request, response) => {
      const { url = '', socket } = request
      seen.push({ url, socket, finish: () => response.end(url) })
      if (url === '/left') response.end()
    },
  })
  const leaving = connect({ port: tlsPort, ca, servername: POLICY_HOST })
  leaving.write(`GET /left HTTP/1.1\r\nHost: ${POLICY_HOST}\r\n\r\n`)
  await eventually(() => service.calls.length === 1, 'the call')
  const kept = ask({ path: '/kept' })
  await eventually(() => seen.length === 2, 'the second request')

  leaving.destroy()
  await eventually(() => edge.traffic.totals('ac_test').open_requests === 1, 'the end of the first request')
  seen[1]!.finish()

  assert.equal((await kept).text, '/kept')
  assert.equal(seen[1]!.socket, seen[0]!.socket, 'both used one connection')
})

test('http-request follows redirects as often as it may and keeps credentials from other servers', async (t) => {
  const { url, calls } = await startService(t)
  const config = { headers: { authorization: 'Bearer secret' }, method: 'POST', body: 'x' }
  const rules = [respond(`\${${RESULTS}.res.status_code} \${${RESULTS}.req.url}`)]
  const followed = await startEndpoint(t, { ...config, url: `${url}/moved` }, { rules })
  const stopped = await startEndpoint(t, { ...config, url: `${url}/moved`, max_redirects: 0 }, { rules })
  const away = await startEndpoint(t, { ...config, url: `${url}/away` }, { rules })

  const texts = [await followed.ask(), await stopped.ask(), await away.ask()].map(({ text }) => text)

  assert.deepEqual(texts.slice(0, 2), [`200 ${url}/final`, `302 ${url}/moved`])
  assert.match(texts[2]!, /^200 http:\/\/localhost:/)
  assert.deepEqual(
    calls.map(({ method, url: called, headers, body }) => [method, called, headers.authorization, body]),
    [
      ['POST', '/moved', 'Bearer secret', 'x'],
      ['GET', '/final', 'Bearer secret', ''],
      ['POST', '/moved', 'Bearer secret', 'x'],
      ['POST', '/away', 'Bearer secret', 'x'],
      ['POST', '/final', undefined, 'x'],
    ],
  )
})

test('http-request tries again while its condition is true, three times at most', async (t) => {
  const first = await startService(t)
  const condition = 'attempts < 10 && last_attempt.res.status_code >= 500'
  const rules = [respond(`\${${RESULTS}.attempts.map(a, a.response_status_code)} \${${RESULTS}.res.body}`)]
  const recovering = await startEndpoint(
    t,
    { url: `${first.url}/fails-once`, retry_condition: condition },
    { rules },
  )
  const second = await startService(t)
  const stubborn = await startEndpoint(t, { url: `${second.url}/`, retry_condition: 'true' }, { rules })

  const texts = [await recovering.ask(), await stubborn.ask()].map(({ text }) => text)

  assert.equal(texts[0], '[500,200] better')
  assert.match(texts[1]!, /^\[200,200,200\]/)
})

test('a call that fails ends the request or sets the error, as the policy says', async (t) => {
  const { url } = await startService(t)
  const rules = [respond(`\${${RESULTS}.error.code}: \${${RESULTS}.error.message}`)]
  const failing = {
    [`${url}/large`]: 'ERR_ADIT_3601',
    [`${url}/bomb`]: 'ERR_ADIT_3601',
    [`${url}/never`]: 'ERR_ADIT_3602',
    // A port of this machine that the operator did not allow.
    'http://[::1]:1/': 'ERR_ADIT_3600',
  }
  for (const [target, code] of Object.entries(failing)) {
    const config = { url: target, timeout: '1s' }
    const going = await startEndpoint(t, config, { rules })
    const halting = await startEndpoint(t, { ...config, on_error: 'halt' }, { rules })

    assert.match((await going.ask()).text, new RegExp(`^${code}: `), target)
    const halted = await halting.ask()
    assert.ok([502, 504].includes(halted.status), target)
    assert.match(halted.text, new RegExp(code), target)
  }
})

test('an encoded response is decoded', async (t) => {
  const { url } = await startService(t)
  const { ask } = await startEndpoint(
    t,
    { url: `${url}/gzip` },
    { rules: [respond(`\${${RESULTS}.res.body}`)] },
  )

  assert.equal((await ask()).text, 'clear')
})

test('calls that lead back are cut, and a visitor cannot skip a call by pretending so', async (t) => {
  const { url, calls } = await startService(t)
  const { ask } = await startEndpoint(t, { url: `${url}/check` })

  const first = await ask({ headers: { 'x-http-request-hops': '2' } })
  const looping = await ask({ headers: { 'x-http-request-hops': '3' } })

  assert.deepEqual([first.status, looping.status], [200, 508])
  assert.equal(calls[0]!.headers['x-http-request-hops'], '3')
  assert.equal(calls.length, 1)
})
