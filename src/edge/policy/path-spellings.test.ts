import assert from 'node:assert/strict'
import type { RequestListener } from 'node:http'
import { test } from 'node:test'
import { readRequestPath } from '../../base/http/request-path.ts'
import { HttpsRoute } from '../../resources/index.ts'
import { HOST, startHttpsEdge } from '../testing/https-edge.ts'
import { HTTP_VERSIONS, sendPolicyRequest, startPolicyEndpoint } from '../testing/policy-endpoint.ts'
import { UPGRADE_HEADERS } from '../testing/web-socket.ts'

const received: RequestListener = (request, response) => response.end(request.url)

/** Spellings of paths below `/admin`, by what upstreams make of them; a rule that matches `/admin` must stop each. */
const ADMIN_SPELLINGS = [
  ...[
    '/admin',
    '/admin/',
    '/admin?x',
    '/admin/x',
    '/%61dmin',
    '/%61%64%6D%69%6e/x',
    '/admin/a%20b',
    '/admin//x',
  ],
  ...['//admin', '///admin', '/./admin', '/x/../admin', '/x/..//admin', '/%2e/admin', '/x/%2e%2E/admin'],
  ...['/%2fadmin', '/%2Fadmin', '/.%2fadmin', '/x%2f..%2fadmin', '/admin%2f..', '/admin/..%2f', '/admin%2fx'],
  ...['/\\admin', '/%5cadmin', '/x\\..\\admin', '/admin%5cx', '//x/admin', '/\\x/admin'],
  ...['/;/admin', '/admin;x', '/admin;/x', '/x/..;/admin', '/admin%00', '/admin%0a', '/%61dmin%0d/x'],
  ...[
    '/%61dmin/%ff',
    '/%61dmin/%zz',
    '/%61dmin/%',
    '/%61dmin/%c0%af',
    '/%c0%afadmin',
    '/%61dmin/\xff',
    '/%u0061dmin',
  ],
]

/** Paths of applications, which pass as they were sent. */
const OTHER_PATHS = [
  ...[
    '/',
    '/public',
    '/ADMIN',
    '/x/admin',
    '/x//y',
    '/api/v4/projects/a%2Fb',
    '/@scope%2fname',
    '/a%3fb%23c',
  ],
  ...[
    '/.well-known/x',
    '/caf%c3%a9',

    '/%7euser/%7Euser',
    '/proxy/https://a.test/x',
    '/a+b%2Bc',
    '/%25',
  ],
  ...['/x?next=//admin/../%zz;a\\', '/file.tar..gz', '/{a}|b'],
]

const rule = (expression: string, type: string, config: object = {}) =>
  JSON.stringify({ on_http_request: [{ expressions: [expression], actions: [{ type, config }] }] })

const always = (type: string, config: object) =>
  JSON.stringify({ on_http_request: [{ actions: [{ type, config }] }] })

const STOP = { status_code: 403 }

/** Every way in which a policy reads the path. */
const MATCHES: Readonly<Record<string, string>> = {
  'req.url.path': rule("req.url.path.startsWith('/admin')", 'deny', STOP),
  'a pattern': rule("req.url.path.matches('^/admin($|[^a-z].*$)')", 'deny', STOP),
  'an allowed prefix': rule("!(req.url.path == '/' || !req.url.path.startsWith('/admin'))", 'deny', STOP),
  'req.url.raw_path': rule("req.url.raw_path.startsWith('/admin')", 'deny', STOP),
  'req.url.uri': rule("req.url.uri.startsWith('/admin')", 'deny', STOP),
  'req.url.raw': rule("req.url.raw.contains('localhost/admin')", 'deny', STOP),
  'req.url': rule("string(req.url).contains('localhost/admin')", 'deny', STOP),
  'from of redirect': always('redirect', {
    from: '^https://[^/]*/admin.*',
    to: 'https://a.test/',
    status_code: 308,
  }),
  'from of url-rewrite': always('url-rewrite', { from: '^(https://[^/]*)/admin.*', to: '$1/denied' }),
}

for (const [name, policy] of Object.entries(MATCHES)) {
  for (const version of HTTP_VERSIONS) {
    test(`no spelling of a path passes ${name} over ${version}, and other paths are sent as they are`, async (t) => {
      const { ask } = await startPolicyEndpoint(t, policy, { listener: received })

      for (const path of ADMIN_SPELLINGS) {
        const { status, text } = await ask({ path }, version)
        assert.ok(text === '/denied' || [308, 400, 403].includes(status), `${path}: ${status} ${text}`)
        if (status === 400) assert.match(text, /ERR_ADIT_3108/, path)
      }
      for (const path of OTHER_PATHS) assert.equal((await ask({ path }, version)).text, path)
    })
  }
}

test('a policy that reads no path leaves each as it was sent', async (t) => {
  const { ask } = await startPolicyEndpoint(
    t,
    rule("req.method == 'PUT' || 'x' in req.url.query_params || req.url.host == 'x'", 'deny'),
    { listener: received },
  )

  // Node's own server, the upstream, rejects bytes above 127.
  for (const version of HTTP_VERSIONS) {
    for (const path of [...ADMIN_SPELLINGS, ...OTHER_PATHS].filter((path) => !/[?\xff]/.test(path)))
      assert.equal((await ask({ path }, version)).text, path)
  }
})

test('what a rewrite leaves of a path is checked before it is sent', async (t) => {
  const { ask } = await startPolicyEndpoint(
    t,
    always('url-rewrite', { from: '^(https://[^/]*)/static(.*)', to: '$1/$2' }),
    { listener: received },
  )

  assert.equal((await ask({ path: '/static-a' })).text, '/-a')
  for (const path of ['/static../secret', '/static/secret'])
    assert.equal((await ask({ path })).status, 400, path)
})

test('an upgrade to WebSocket is rejected like any request', async (t) => {
  const { ask } = await startPolicyEndpoint(t, MATCHES['req.url.path']!, { listener: received })

  for (const path of ADMIN_SPELLINGS) {
    const { status } = await ask({ path, headers: UPGRADE_HEADERS })
    assert.ok(status === 400 || status === 403, `${path}: ${status}`)
  }
})

for (const [match_type, match] of [
  ['path_prefix', '/admin'],
  ['path_prefix', '/%61dmin'],
  ['exact_path', '/admin'],
]) {
  for (const version of HTTP_VERSIONS) {
    test(`no spelling of a path passes a route with ${match_type} ${match} over ${version}`, async (t) => {
      const { config, edgeId, backendId, tlsPort, ca } = await startHttpsEdge(t, received)
      config.create(HttpsRoute, {
        ...{ edge_id: edgeId, match_type, match },
        backend: { backend_id: backendId },
        traffic_policy: { value: always('deny', STOP) },
      })
      await config.waitUntilApplied()
      const statusOf = async (path: string) => {
        const { status, text } = await sendPolicyRequest(tlsPort, ca, { host: HOST, path }, version)
        if (status === 200) assert.equal(text, path)
        return status
      }

      for (const path of ADMIN_SPELLINGS) {
        const status = await statusOf(path)
        // Below an exact path there is nothing.
        const below =
          match_type === 'exact_path' && readRequestPath(path.split('?')[0]!)?.decoded !== '/admin'
        assert.ok(status === 400 || status === 403 || (below && status === 200), `${path}: ${status}`)
      }
      for (const path of OTHER_PATHS) assert.equal(await statusOf(path), 200, path)
    })
  }
}
