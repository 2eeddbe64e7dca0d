import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NameIndex } from '../../base/values/name-index.ts'
import type { CompiledEdge } from '../compile/edge.ts'
import { CompiledEndpoints } from '../compile/endpoints.ts'
import type { HttpHost, TcpHost } from '../contracts/table.ts'
import { TlsPolicies } from '../contracts/tls-policy.ts'
import { createDetachedRuntime } from '../detached-runtime.ts'
import { createLocalTunnel, TestTunnels } from '../testing/tunnels.ts'
import { IdleBudgets } from '../upstream/tunnel-target.ts'
import { RouteResolver } from './route-resolver.ts'

/** What exists in a case, each as `kind name`: `https-edge *.test`, `tls *.app.test`, `http-configuration app.test`. */
type Existing = readonly string[]

const PORT = 443

/** Who serves https, http and TLS of `app.test` there; `->` marks a redirect to https, '' that nobody does. */
const cases: readonly (readonly [Existing, https: string, http: string, tls: string])[] = [
  [[], '', '', ''],
  [
    ['platform app.test', 'https-edge app.test', 'https app.test'],
    'platform app.test',
    '->platform app.test',
    'platform app.test',
  ],
  [
    ['https-edge app.test', 'https app.test', 'http app.test', 'https-configuration app.test'],
    'https-edge app.test',
    '->https-edge app.test',
    'https-edge app.test',
  ],
  [
    ['https-edge app.test', 'https-edge *.test'],
    'https-edge app.test',
    '->https-edge app.test',
    'https-edge app.test',
  ],
  // A TLS edge keeps its name, though it serves no HTTP.
  [['tls-edge app.test', 'https app.test', 'http app.test'], '', '', 'tls-edge app.test'],
  [['https-edge *.test'], 'https-edge *.test', '->https-edge *.test', 'https-edge *.test'],
  [['https-edge *.test', 'https app.test'], 'https app.test', '->https app.test', 'https app.test'],
  [['https-edge *.test', 'tls app.test'], 'https-edge *.test', '->https-edge *.test', 'tls app.test'],
  [['https-edge *.test', 'http app.test'], 'https-edge *.test', 'http app.test', 'https-edge *.test'],
  // At equal specificity the edge wins.
  [['https-edge *.test', 'https *.test'], 'https-edge *.test', '->https-edge *.test', 'https-edge *.test'],
  [['https *.test'], 'https *.test', '->https *.test', 'https *.test'],
  [['https *.test', 'https app.test'], 'https app.test', '->https app.test', 'https app.test'],
  [['http app.test'], '', 'http app.test', ''],
  [['http app.test', 'https app.test'], 'https app.test', 'http app.test', 'https app.test'],
  [['tls app.test'], '', '', 'tls app.test'],
  [
    ['https-configuration app.test', 'https app.test'],
    'https-configuration app.test',
    '->https-configuration app.test',
    'https-configuration app.test',
  ],
  [
    ['https-configuration app.test', 'http app.test'],
    'https-configuration app.test',
    'http app.test',
    'https-configuration app.test',
  ],
  [
    ['http-configuration app.test', 'https app.test', 'http app.test'],
    'https app.test',
    'http-configuration app.test',
    'https app.test',
  ],
]

for (const [existing, https, http, tls] of cases)
  test(`of ${existing.join(', ') || 'nothing'}, ${https || 'nobody'} serves https`, () => {
    const resolver = resolverOf(existing)

    assert.deepEqual(
      {
        https: nameOf(resolver.http('https', 'app.test')),
        http: nameOf(resolver.http('http', 'app.test')),
        tls: nameOf(resolver.tls('app.test')),
      },
      { https, http, tls },
    )
  })

test('a port is served by its edge, else by its configuration, else by the tunnel there', () => {
  const all = ['tcp-edge 443', 'tcp-configuration 443', 'tcp 443']

  const served = [0, 1, 2, 3].map((from) => nameOf(resolverOf(all.slice(from)).tcp(PORT)))

  assert.deepEqual(served, ['tcp-edge 443', 'tcp-configuration 443', 'tcp 443', ''])
})

test('a redirect is made once for what it redirects to', () => {
  const resolver = resolverOf(['https app.test'])

  assert.equal(resolver.http('http', 'app.test'), resolver.http('http', 'app.test'))
})

const nameOf = (host: HttpHost | TcpHost | undefined) =>
  host === undefined ? '' : `${host.kind === 'http' && host.redirectToHttps ? '->' : ''}${host.id}`

function resolverOf(existing: Existing): RouteResolver {
  const platformHosts = new Map<string, HttpHost>()
  const names = new NameIndex<CompiledEdge>()
  const configured = new Map<string, HttpHost | TcpHost>()
  const tunnels = new TestTunnels()
  const ports = new Map<number, CompiledEdge>()
  for (const id of existing) {
    const [kind = '', name = ''] = id.split(' ')
    const host = { kind: /^(?:tls|tcp)-/.test(kind) ? 'tcp' : 'http', id, redirectToHttps: false } as never
    if (kind === 'platform') platformHosts.set(name, host)
    else if (kind === 'tcp-edge') ports.set(Number(name), { host } as unknown as CompiledEdge)
    else if (kind.endsWith('-edge')) names.set(name, { host } as unknown as CompiledEdge)
    else if (kind.endsWith('-configuration')) configured.set(`${kind.split('-')[0]} ${name}`, host)
    else {
      const proto = kind as 'http' | 'https' | 'tls' | 'tcp'
      const tunnel = createLocalTunnel(1, { id, proto, hostport: `${name}:${PORT}` })
      if (proto === 'tcp') tunnels.ports.set(Number(name), tunnel)
      else tunnels.add(name, tunnel)
    }
  }
  return new RouteResolver({
    platformHosts,
    edges: {
      named: (host) => names.getExact(host),
      covering: (host) => names.matchWildcard(host),
      atPort: (port) => ports.get(port),
      routeWith: () => undefined,
    },
    configurations: {
      http: (scheme, host) => configured.get(`${scheme} ${host}`) as HttpHost | undefined,
      tcp: (port) => configured.get(`tcp ${port}`) as TcpHost | undefined,
      route: () => undefined,
    },
    tunnels,
    endpoints: new CompiledEndpoints({
      runtime: createDetachedRuntime(),
      budgets: new IdleBudgets(),
      tlsPolicies: new TlsPolicies(),
      tunnels,
      configurations: { revision: 0, find: () => undefined },
      compileModules: () => ({ connectionSteps: [], steps: undefined, wrapBackend: undefined, tls: {} }),
    }),
  })
}
