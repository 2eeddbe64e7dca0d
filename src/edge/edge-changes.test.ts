import assert from 'node:assert/strict'
import { Agent, get } from 'node:https'
import { test } from 'node:test'
import { eventually } from '../../test/support/eventually.ts'
import {
  CertificateAuthority,
  FailoverBackend,
  HttpResponseBackend,
  HttpsEdge,
  HttpsRoute,
  IpPolicy,
  IpPolicyRule,
  type Resource,
  StaticBackend,
  TcpEdge,
  TlsEdge,
  TunnelGroupBackend,
  WeightedBackend,
} from '../resources/index.ts'
import { createClientAuthority } from './testing/client-certificates.ts'
import { HOST, type HttpsEdgeHarness, startHttpsEdge } from './testing/https-edge.ts'

const CHANGES = 500

/** A generator that repeats its numbers for the same seed. */
function createSeededRandom(seed: number) {
  let state = seed
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  return { below, one: <T>(items: readonly T[]): T => items[below(items.length)]! }
}

type SeededRandom = ReturnType<typeof createSeededRandom>

/** Invalid values, which must not affect other edges. */
const INVALID_VALUES = [
  null,
  undefined,
  '',
  'x',
  0,
  -1,
  1e99,
  [],
  {},
  [null],
  { enabled: true },
  true,
  '\u0000',
  ['ipp_none'],
]

/** Applies one random change, valid or not. */
function applyChange(harness: HttpsEdgeHarness, random: SeededRandom, ids: string[], ca: string): void {
  const { config } = harness
  const idsOf = (prefix: string) => ids.filter((id) => id.startsWith(`${prefix}_`))
  const backend = () =>
    random.one([...idsOf('bkdhr'), ...idsOf('bkdwd'), ...idsOf('bkdfo'), ...idsOf('bkdtg'), 'bkdhr_none'])
  const name = () => `other-${random.below(20)}.adit.localhost:443`
  const creations: (() => [Resource<never>, Record<string, unknown>])[] = [
    () => [
      HttpResponseBackend as never,
      { body: `${random.below(100)}`, status_code: 200 + random.below(300) },
    ],
    () => [TunnelGroupBackend as never, { labels: { app: random.one(['shop', 'none']) } }],
    () => [WeightedBackend as never, { backends: {} }],
    () => [FailoverBackend as never, { backends: [] }],
    () => [StaticBackend as never, { address: '127.0.0.1:1' }],
    () => [IpPolicy as never, {}],
    () => [
      IpPolicyRule as never,
      {
        ip_policy_id: random.one([...idsOf('ipp'), 'ipp_000000000000000000000000000']),
        cidr: '127.0.0.0/8',
        action: random.one(['allow', 'deny']),
      },
    ],
    () => [CertificateAuthority as never, { ca_pem: random.one([ca, 'broken']) }],
    () => [HttpsEdge as never, { hostports: [name()] }],
    () => [TlsEdge as never, { hostports: [name()] }],
    () => [TcpEdge as never, { hostports: [`localhost:${30_000 + random.below(10)}`] }],
    () => [
      HttpsRoute as never,
      {
        edge_id: random.one([...idsOf('edghts'), 'edghts_000000000000000000000000000']),
        match_type: random.one(['exact_path', 'path_prefix']),
        match: random.one(['/', '/a', '/a/b']),
      },
    ],
  ]
  const kind = random.below(10)
  if (kind < 4 || ids.length < 20) {
    const [resource, body] = random.one(creations)()
    ids.push(config.create(resource, body))
    return
  }
  const id = random.one(ids)
  if (kind === 4) {
    config.remove(id)
    ids.splice(ids.indexOf(id), 1)
    return
  }
  const record = config.record(id)
  const fields: Record<string, () => unknown> = {
    hostports: () => [name(), name()],
    backends: () => random.one<unknown>([[backend(), backend()], { [backend()]: random.below(10) }]),
    backend: () => ({ enabled: true, backend_id: backend() }),
    ip_restriction: () => ({ enabled: true, ip_policy_ids: idsOf('ipp').slice(0, 3) }),
    mutual_tls: () => ({ enabled: true, certificate_authority_ids: idsOf('ca').slice(0, 2) }),
    tls_termination: () => ({
      enabled: true,
      terminate_at: random.one(['edge', 'upstream']),
      min_version: '1.2',
    }),
    compression: () => ({ enabled: true }),
    request_headers: () => ({
      enabled: true,
      add: { x: random.one(['y', 'ü', '→', '\u0001']) },
      remove: ['accept'],
    }),
    user_agent_filter: () => ({ enabled: true, allow: [], deny: [random.one(['x', '(', '(a)\\1'])] }),
    circuit_breaker: () => ({
      enabled: true,
      num_buckets: random.one([0, 1, 10]),
      rolling_window: 1,
      tripped_duration: 1,
      volume_threshold: 1,
      error_threshold_percentage: 0.5,
    }),
  }
  const field = random.one(Object.keys(record).concat('unknown_field'))
  const validValue = fields[field]
  const value = validValue !== undefined && random.below(3) > 0 ? validValue() : random.one(INVALID_VALUES)
  config.write(resourceOf(id), id, { ...record, [field]: value })
}

function resourceOf(id: string): Resource {
  const all = [
    HttpsEdge,
    HttpsRoute,
    TlsEdge,
    TcpEdge,
    HttpResponseBackend,
    TunnelGroupBackend,
    WeightedBackend,
    FailoverBackend,
    StaticBackend,
    IpPolicy,
    IpPolicyRule,
    CertificateAuthority,
  ]
  return all.find(({ prefix }) => id.startsWith(`${prefix}_`))!
}

test(`${CHANGES} random changes, valid or not, affect no other edge (P10)`, async (t) => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  t.diagnostic(`seed ${seed}`)
  const random = createSeededRandom(seed)
  const harness = await startHttpsEdge(t)
  const { config, tlsPort, ca } = harness
  const { ca: clients } = await createClientAuthority('clients')
  const neighbours = [HOST, 'fixed.adit.localhost', 'own.adit.localhost']
  for (const host of neighbours.slice(1)) {
    const edge_id = config.create(HttpsEdge, { hostports: [`${host}:443`] })
    const backend = { backend_id: config.create(HttpResponseBackend, { body: host }) }
    config.create(HttpsRoute, { edge_id, match_type: 'path_prefix', match: '/', backend })
  }
  await config.waitUntilApplied()

  const faults: string[] = []
  let answered = 0
  let stopped = false
  const keepAliveAgent = new Agent({ keepAlive: true, maxSockets: 4, ca })
  t.after(() => keepAliveAgent.destroy())
  const ask = (host: string, agent: Agent | false, expected: (status: number) => boolean) =>
    new Promise<void>((resolve) => {
      const request = get(
        { port: tlsPort, host: '127.0.0.1', servername: host, headers: { host }, agent, ca, timeout: 5000 },
        (response) => {
          if (!expected(response.statusCode ?? 0)) faults.push(`${host}: ${response.statusCode}`)
          response.resume()
          response.on('end', () => {
            answered++
            resolve()
          })
          response.on('error', (error) => {
            faults.push(`${host}: ${error.message}`)
            resolve()
          })
        },
      )
      request.on('timeout', () => request.destroy(new Error('timeout')))
      request.on('error', (error) => {
        // Edges under change may reject clients in the handshake already.
        if (neighbours.includes(host)) faults.push(`${host}: ${error.message}`)
        resolve()
      })
    })
  const clientLoops = [
    ...neighbours.flatMap((host) => [
      [host, keepAliveAgent],
      [host, false],
    ]),
  ].map(async ([host, agent]) => {
    while (!stopped) await ask(host as string, agent as Agent | false, (status) => status === 200)
  })
  const otherLoops = Array.from({ length: 2 }, async () => {
    for (let n = 0; !stopped; n++)
      await ask(`other-${n % 20}.adit.localhost`, false, (status) => status !== 500)
  })
  const ids: string[] = []
  try {
    for (let n = 0; n < CHANGES; n++) {
      applyChange(harness, random, ids, clients)
      if (n % 10 === 9) await eventually(() => harness.edge.scopes.settled, 'the changes are applied', 1000)
    }
  } finally {
    stopped = true
    await Promise.all([...clientLoops, ...otherLoops])
  }

  assert.deepEqual(faults.slice(0, 5), [], `seed ${seed}`)
  assert.ok(answered > 100, `${answered} requests were answered meanwhile`)
})
