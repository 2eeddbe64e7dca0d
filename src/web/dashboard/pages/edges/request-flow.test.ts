import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modules, requestOrder } from '../../../../edge/modules/index.ts'
import type { Backend, Edge, Tunnel } from '../resources.ts'
import { describeFlow, type Sentence } from './flow-labels.ts'
import { EDGE_MODULES, MODULES, ROUTE_MODULES } from './modules.ts'
import { type BackendNode, buildRequestFlow } from './request-flow.ts'

const common = { description: '', metadata: '', created_at: '2026-01-01T00:00:00Z' }
const ref = (id: string) => ({ id, uri: `http://x/${id}` })
const tunnel = (id: string, forwards_to: string) => ({ id, forwards_to }) as Tunnel

const backends = new Map<string, Backend>(
  [
    { ...common, id: 'bkdhr_1', status_code: 503, body: 'closed' },
    { ...common, id: 'bkdtg_1', labels: { app: 'shop', stage: 'live' }, tunnels: [ref('tn_1')] },
    { ...common, id: 'bkdtg_2', labels: { app: 'new' }, tunnels: [] },
    { ...common, id: 'bkdsc_1', address: 'shop.example:443', tls: { enabled: true } },
    { ...common, id: 'bkdwd_1', backends: { bkdtg_2: 1, bkdtg_1: 3, bkdhr_1: 0 } },
    { ...common, id: 'bkdfo_1', description: 'Shop', backends: ['bkdwd_1', 'bkdsc_1', 'bkdhr_9'] },
    { ...common, id: 'bkdfo_2', backends: ['bkdfo_2'] },
  ].map((backend) => [backend.id, backend]),
)
const context = { backends, tunnels: new Map([['tn_1', tunnel('tn_1', 'http://localhost:3000')]]) }

const edge: Edge = {
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
}

const flat = (sentences: readonly Sentence[]): string[] =>
  sentences.flatMap(({ text, details }) => [text, ...flat(details)])

test('modules stand in the picture in the order in which the edge runs them', () => {
  const displayed = ROUTE_MODULES.filter((name) => (requestOrder as readonly string[]).includes(name))

  assert.deepEqual(displayed, requestOrder)
  assert.equal(ROUTE_MODULES[0], 'ip_restriction')
  assert.equal(ROUTE_MODULES.at(-1), 'websocket_tcp_converter')
  assert.deepEqual(Object.keys(MODULES).sort(), Object.keys(modules).sort())
  const placed = new Set([...ROUTE_MODULES, ...Object.values(EDGE_MODULES).flat()])
  assert.deepEqual([...placed].sort(), Object.keys(modules).sort())
})

test('routes come in the order in which they are tried, each with its modules', () => {
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
    ['TLS settings: ends here, 1.3 only'],
  )
})

test('backends are followed to those who answer, with shares, order and tunnels online', () => {
  const tree = buildRequestFlow('https', edge, context).branches[2]!.backend!
  const render = ({ title, summary, ready, tunnels, children }: BackendNode): unknown => [
    `${title} (${summary})${ready ? '' : ' nobody'}`,
    ...tunnels.map(({ forwards_to }) => forwards_to),
    ...children.map(({ label, node }) => [label, render(node)]),
  ]

  assert.deepEqual(render(tree), [
    'Shop (the first that can be reached)',
    [
      '1st',
      [
        'Weighted (shared by weight)',
        ['75 %', ['Tunnel group (app=shop, stage=live)', 'http://localhost:3000']],
        ['25 %', ['Tunnel group (app=new) nobody']],
        ['0 %', ['Fixed answer (answers 503 with 6 bytes)']],
      ],
    ],
    ['2nd', ['Fixed address (shop.example:443 over TLS)']],
    ['3rd', ['Missing backend (bkdhr_9) nobody']],
  ])
})

test('a backend that contains itself is drawn as far as the edge follows it, and no further', () => {
  const looping = { ...edge, backend: { enabled: true, backend: ref('bkdfo_2') } }
  let [depth, node] = [0, buildRequestFlow('tcp', looping, context).branches[0]!.backend]

  while (node?.children[0]) {
    node = node.children[0].node
    depth++
  }

  assert.equal(depth, 9)
  assert.equal(node?.title, 'Missing backend')
})

test('what lets nobody in says so, with the reason the edge gave', () => {
  const broken = [{ id: 'edghtsrt_api', module: 'ip_restriction', reason: 'the IP policy ipp_1 is missing' }]

  const flow = buildRequestFlow('https', edge, { ...context, broken })

  assert.equal(flow.branches[1]!.steps[0]!.state, 'broken')
  assert.match(
    flat(describeFlow(flow)).join('\n'),
    /IP restriction cannot do its work.*the IP policy ipp_1 is missing/,
  )
})

test('the picture in words says all that it shows', () => {
  const words = flat(describeFlow(buildRequestFlow('https', edge, context)))

  assert.deepEqual(words, [
    'A visitor comes with https to shop.adit.localhost:443 or shop.example:443.',
    'TLS settings (ends here, 1.3 only) says where TLS ends and from which version on it is spoken.',
    'For the path /health:',
    'Nobody answers: the backend Fixed answer is switched off.',
    'For paths that begin with /api/:',
    'IP restriction (1 policy) lets in only addresses that IP policies allow.',
    'Nobody answers: no backend is chosen.',
    'For paths that begin with /:',
    'Sign-in with OpenID (id.example) asks visitors to sign in at your OpenID provider.',
    'Compression is switched off.',
    'Circuit breaker (opens at 50 % errors) stops asking a backend that keeps failing, for a while.',
    'Shop (the first that can be reached) answers.',
    '1st: Weighted (shared by weight) answers.',
    '75 %: Tunnel group (app=shop, stage=live) answers; 1 online: http://localhost:3000.',
    '25 %: Tunnel group (app=new) answers; no tunnel is online.',
    '0 %: Fixed answer (answers 503 with 6 bytes) answers.',
    '2nd: Fixed address (shop.example:443 over TLS) answers.',
    '3rd: Missing backend (bkdhr_9) answers; nobody would answer now.',
  ])
})

test('an empty edge says what is missing', () => {
  const empty = { ...edge, hostports: [], tls_termination: null, routes: [] }

  const words = flat(describeFlow(buildRequestFlow('https', empty, context)))

  assert.match(words.join('\n'), /no host name or address/)
  assert.match(words.join('\n'), /There is no route yet/)
})
