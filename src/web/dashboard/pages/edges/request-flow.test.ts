import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { BackendListing } from '../../../../dashboard/page-data.ts'
import { modules, requestOrder } from '../../../../edge/modules/index.ts'
import { BACKEND_PREFIXES } from '../../../../resources/index.ts'
import { KIND_BY_PREFIX } from '../backends/kinds.ts'
import type { Edge } from '../resources.ts'
import { describeFlow, type Sentence } from './flow-labels.ts'
import { EDGE_MODULES, MODULES, ROUTE_MODULES } from './modules.ts'
import { type BackendNode, buildRequestFlow } from './request-flow.ts'

type DeepPartial<T> = T extends object ? { readonly [K in keyof T]?: DeepPartial<T[K]> } : T
/** A resource with the fields that the diagram reads. */
const sample = <T>(fields: DeepPartial<T>) => fields as T

const common = { description: '', metadata: '', created_at: '2026-01-01T00:00:00Z' }
const ref = (id: string) => ({ id, uri: `http://x/${id}` })

const backends = new Map<string, BackendListing>(
  [
    { ...common, id: 'bkdhr_1', status_code: 503, body_bytes: 6 },
    {
      ...common,
      id: 'bkdtg_1',
      labels: { app: 'shop', stage: 'live' },
      online: 1,
      tunnels: [{ id: 'tn_1', forwards_to: 'http://localhost:3000' }],
    },
    { ...common, id: 'bkdtg_2', labels: { app: 'new' }, online: 0, tunnels: [] },
    { ...common, id: 'bkdsc_1', address: 'shop.example:443', tls: true },
    { ...common, id: 'bkdwd_1', backends: { bkdtg_2: 1, bkdtg_1: 3, bkdhr_1: 0 } },
    { ...common, id: 'bkdfo_1', description: 'Shop', backends: ['bkdwd_1', 'bkdsc_1', 'bkdhr_9'] },
    { ...common, id: 'bkdfo_2', backends: ['bkdfo_2'] },
  ].map((backend) => [backend.id, sample<BackendListing>(backend)]),
)
const context = { backends }

const edge = sample<Edge>({
  ...common,
  id: 'edghts_1',
  hostports: ['shop.adit.localhost:443', 'shop.example:443'],
  tls_termination: { enabled: true, terminate_at: 'edge', min_version: '1.3' },
  mutual_tls: null,
  routes: [
    {
      ...common,
      id: 'edghtsrt_all',
      edge_id: 'edghts_1',
      match_type: 'path_prefix',
      match: '/',
      backend: { enabled: true, backend: ref('bkdfo_1') },
      circuit_breaker: { enabled: true, error_threshold_percentage: 0.5 },
      oidc: { enabled: true, issuer: 'https://id.example' },
      compression: { enabled: false },
    },
    {
      ...common,
      id: 'edghtsrt_api',
      edge_id: 'edghts_1',
      match_type: 'path_prefix',
      match: '/api/',
      backend: null,
      ip_restriction: { enabled: true, ip_policies: [ref('ipp_1')] },
    },
    {
      ...common,
      id: 'edghtsrt_health',
      edge_id: 'edghts_1',
      match_type: 'exact_path',
      match: '/health',
      backend: { enabled: false, backend: ref('bkdhr_1') },
    },
  ],
})

const flat = (sentences: readonly Sentence[]): string[] =>
  sentences.flatMap(({ text, details }) => [text, ...flat(details)])

test('the diagram shows modules in the order in which the edge runs them', () => {
  const displayed = ROUTE_MODULES.filter((name) => (requestOrder as readonly string[]).includes(name))

  assert.deepEqual(displayed, requestOrder)
  assert.equal(ROUTE_MODULES[0], 'ip_restriction')
  assert.equal(ROUTE_MODULES.at(-1), 'websocket_tcp_converter')
  // A policy is compiled apart from modules.
  const names = [...Object.keys(modules), 'traffic_policy'].sort()
  assert.deepEqual(Object.keys(MODULES).sort(), names)
  const placed = new Set([...ROUTE_MODULES, ...Object.values(EDGE_MODULES).flat()])
  assert.deepEqual([...placed].sort(), names)
})

test('the dashboard knows every kind of backend', () => {
  assert.deepEqual(Object.keys(KIND_BY_PREFIX).sort(), [...BACKEND_PREFIXES].sort())
})

test('routes are listed in routing order, each with its modules', () => {
  const flow = buildRequestFlow('https', edge, context)

  assert.deepEqual(
    flow.branches.map(({ match, steps }) => [
      match?.text,
      match?.exact,
      ...steps.map(({ module, state }) => `${module} ${state}`),
    ]),
    [
      ['/health', true],
      ['/api/', false, 'ip_restriction on'],
      ['/', false, 'oidc on', 'compression off', 'circuit_breaker on'],
    ],
  )
  assert.deepEqual(
    flow.steps.map(({ title, summary }) => `${title}: ${summary}`),
    ['TLS settings: terminates at the edge, TLS 1.3'],
  )
})

test('backends are resolved to a tree with shares, order and online tunnels', () => {
  const tree = buildRequestFlow('https', edge, context).branches[2]!.backend!
  const render = ({ title, summary, ready, tunnels, children }: BackendNode): unknown => [
    `${title} (${summary})${ready ? '' : ' unavailable'}`,
    ...tunnels.map(({ forwards_to }) => forwards_to),
    ...children.map(({ label, node }) => [label, render(node)]),
  ]

  assert.deepEqual(render(tree), [
    'Shop (first reachable)',
    [
      '1st',
      [
        'Weighted (split by weight)',
        ['75 %', ['Tunnel group (app=shop, stage=live)', 'http://localhost:3000']],
        ['25 %', ['Tunnel group (app=new) unavailable']],
        ['0 %', ['Fixed response (returns 503 with 6 bytes)']],
      ],
    ],
    ['2nd', ['Fixed address (shop.example:443 over TLS)']],
    ['3rd', ['Missing backend (bkdhr_9) unavailable']],
  ])
})

test('a backend that contains itself is resolved to the depth the edge follows', () => {
  const looping = { ...edge, backend: { enabled: true, backend: ref('bkdfo_2') } }
  let [depth, node] = [0, buildRequestFlow('tcp', looping, context).branches[0]!.backend]

  while (node?.children[0]) {
    node = node.children[0].node
    depth++
  }

  assert.equal(depth, 9)
  assert.equal(node?.title, 'Missing backend')
})

test('a broken module is shown with the reason the edge reports', () => {
  const broken = [{ id: 'edghtsrt_api', module: 'ip_restriction', reason: 'the IP policy ipp_1 is missing' }]

  const flow = buildRequestFlow('https', edge, { ...context, broken })

  assert.equal(flow.branches[1]!.steps[0]!.state, 'broken')
  assert.match(
    flat(describeFlow(flow)).join('\n'),
    /IP restriction cannot run and rejects all traffic.*the IP policy ipp_1 is missing/,
  )
})

test('the text description covers everything the diagram shows', () => {
  const sentences = flat(describeFlow(buildRequestFlow('https', edge, context)))

  assert.deepEqual(sentences, [
    'A visitor connects over HTTPS to shop.adit.localhost:443 or shop.example:443.',
    'TLS settings (terminates at the edge, TLS 1.3) sets where TLS terminates and the minimum version.',
    'For the path /health:',
    'The backend Fixed response is switched off.',
    'For paths that start with /api/:',
    'IP restriction (1 policy) admits only addresses that its IP policies allow.',
    'No backend is selected.',
    'For paths that start with /:',
    'Sign-in with OpenID (id.example) requires visitors to sign in with your OpenID provider.',
    'Compression is switched off.',
    'Circuit breaker (opens at 50 % errors) stops sending requests to a failing backend for a while.',
    'Backend: Shop (first reachable).',
    '1st: Weighted (split by weight).',
    '75 %: Tunnel group (app=shop, stage=live); 1 online: http://localhost:3000.',
    '25 %: Tunnel group (app=new); no tunnel is online.',
    '0 %: Fixed response (returns 503 with 6 bytes).',
    '2nd: Fixed address (shop.example:443 over TLS).',
    '3rd: Missing backend (bkdhr_9); unavailable.',
  ])
})

test('an empty edge names what is missing', () => {
  const empty = { ...edge, hostports: [], tls_termination: null, routes: [] }

  const sentences = flat(describeFlow(buildRequestFlow('https', empty, context)))

  assert.match(sentences.join('\n'), /no host name or address/)
  assert.match(sentences.join('\n'), /There is no route yet/)
})
