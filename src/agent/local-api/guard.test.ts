import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAgent } from '../testing/agent.ts'
import { TestGateway } from '../testing/gateway.ts'
import { call, startAgentWithApi } from '../testing/local-api.ts'
import { createGuard } from './guard.ts'
import { startLocalApi } from './local-api.ts'

const guard = createGuard({
  allowHosts: ['agent.lan', '10.1.0.0/16', '192.168.7.9', '.internal.test', 'fd00::/8'],
  ownHosts: () => ['mine.example.com'],
})

const request = (headers: Record<string, string>, method = 'GET', page = false) => ({ method, headers, page })

for (const host of [
  'localhost',
  'localhost:4040',
  'LOCALHOST:4040',
  '127.0.0.1:4040',
  '127.8.8.8',
  '[::1]:4040',
  'agent.lan:4040',
  '10.1.2.3',
  '192.168.7.9:4040',
  'a.b.internal.test',
  '[fd00::5]:4040',
  'mine.example.com',
]) {
  test(`the Host ${host} is accepted`, () => {
    assert.equal(guard(request({ host })), undefined)
  })
}

for (const host of [
  '',
  'evil.test',
  'evil.test:4040',
  '127.0.0.1.nip.io:4040',
  '127.0.0.1.evil.test',
  'localhost.evil.test',
  'evil-localhost',
  'x.localhost',
  '0.0.0.0:4040',
  '[::]:4040',
  '10.2.0.1',
  '192.168.7.10',
  'internal.test',
  'xinternal.test',
  '2130706433',
  '0x7f.1',
  '[::ffff:1.2.3.4]',
  'localhost@evil.test',
  'localhost evil.test',
  'localhost:4040:1',
]) {
  test(`the Host "${host}" is rejected`, () => {
    assert.match(guard(request({ host })) ?? '', /Host/)
  })
}

const LOCAL = { host: '127.0.0.1:4040' }

const REJECTED: [title: string, headers: Record<string, string>, method: string, page: boolean][] = [
  ['a foreign origin', { origin: 'https://evil.test' }, 'POST', false],
  ['a foreign origin that only reads', { origin: 'https://evil.test' }, 'GET', false],
  ['another port of this machine', { origin: 'http://127.0.0.1:3000' }, 'POST', false],
  ['another name of this machine', { origin: 'http://localhost:4040' }, 'POST', false],
  ['an opaque origin', { origin: 'null' }, 'POST', false],
  ['an origin with another scheme', { origin: 'file://127.0.0.1:4040' }, 'POST', false],
  ['an extension', { origin: 'chrome-extension://127.0.0.1:4040' }, 'POST', false],
  ['a cross-site call', { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors' }, 'GET', false],
  ['a same-site call', { 'sec-fetch-site': 'same-site' }, 'POST', false],
  [
    'a cross-site form',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    'POST',
    true,
  ],
  [
    'a cross-site link to data',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
    'GET',
    false,
  ],
  [
    'a cross-site frame',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'iframe' },
    'GET',
    true,
  ],
  [
    'a cross-site image',
    { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' },
    'GET',
    true,
  ],
]

for (const [title, headers, method, page] of REJECTED) {
  test(`${title} is rejected`, () => {
    assert.match(guard(request({ ...LOCAL, ...headers }, method, page)) ?? '', /other web pages/)
  })
}

test('the page itself, navigation and programs are accepted', () => {
  const sameOrigin = { origin: 'http://127.0.0.1:4040', 'sec-fetch-site': 'same-origin' }
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

  assert.equal(guard(request({ ...LOCAL, ...sameOrigin }, 'POST')), undefined)
  assert.equal(guard(request({ ...LOCAL, 'sec-fetch-site': 'none' })), undefined)
  assert.equal(guard(request(LOCAL, 'DELETE')), undefined)
  assert.equal(guard(request({ ...LOCAL, ...link }, 'GET', true)), undefined)
})

test('a rejected call changes nothing, reads nothing and gets no CORS header', async (t) => {
  const api = await startAgentWithApi(t)
  await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: 80 })
  const json = { 'Content-Type': 'application/json' }
  const attempts: [method: string, path: string, headers: Record<string, string>, body?: string][] = [
    ['GET', '/api/tunnels', { Host: 'evil.test' }],
    ['GET', '/inspect/http', { Host: 'evil.test' }],
    ['GET', '/nothing', { Host: 'evil.test' }],
    ['GET', '/api/requests/http/stream', { Host: 'evil.test' }],
    ['DELETE', '/api/tunnels/web', { Origin: 'https://evil.test' }],
    ['DELETE', '/api/requests/http', { 'Sec-Fetch-Site': 'cross-site' }],
    [
      'POST',
      '/api/tunnels',
      { ...json, Origin: 'https://evil.test' },
      '{"proto":"http","addr":1,"name":"x"}',
    ],
    ['OPTIONS', '/api/tunnels', { Origin: 'https://evil.test', 'Access-Control-Request-Method': 'POST' }],
    ['GET', '/api/tunnels', { Host: 'evil.test', Upgrade: 'websocket', Connection: 'Upgrade' }],
  ]

  for (const [method, path, headers, body] of attempts) {
    const response = await call(api.api.url, method, path, headers, body)
    assert.equal(response.status, 403, `${method} ${path}`)
    assert.equal(response.headers['access-control-allow-origin'], undefined)
    assert.doesNotMatch(response.text, /public_url/)
  }

  assert.deepEqual(
    api.agent.tunnels.list().map((tunnel) => tunnel.name),
    ['web'],
  )
})

test('the Host of a tunnel to the API is accepted, that of another tunnel is rejected', async (t) => {
  const api = await startAgentWithApi(t)
  const port = api.api.address.split(':')[1]
  await api.post('/api/tunnels', { name: 'self', proto: 'http', addr: port, hostname: 'self.test' })
  await api.post('/api/tunnels', { name: 'web', proto: 'http', addr: 80, hostname: 'web.test' })

  const response = await api.gateway.request(
    'https://self.test',
    'GET /api/tunnels HTTP/1.1\r\nHost: self.test\r\nConnection: close\r\n\r\n',
  )

  assert.match(response, /^HTTP\/1\.1 200/)
  assert.equal((await call(api.api.url, 'GET', '/api/tunnels', { Host: 'web.test' })).status, 403)
  assert.match(api.lines.join(''), /lvl=warn msg="the local API is public through a tunnel"/)
})

test('names in web_allow_hosts are accepted', async (t) => {
  const gateway = await TestGateway.start(t)
  const web = { host: '127.0.0.1', port: 0, explicit: true, allowHosts: ['agent.lan'] }
  const { agent } = startAgent(t, gateway)
  const api = await startLocalApi(agent, web)
  t.after(() => api.close())

  assert.equal((await call(api.url, 'GET', '/api/tunnels', { Host: 'agent.lan:4040' })).status, 200)
  assert.equal((await call(api.url, 'GET', '/api/tunnels', { Host: 'other.lan' })).status, 403)
})
