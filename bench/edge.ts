import { type ChildProcess, fork } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect, type TLSSocket } from 'node:tls'
import { silentLog } from '../src/base/process/log.ts'
import { systemClock } from '../src/base/values/clock.ts'
import { newId } from '../src/base/values/id.ts'
import { Secret } from '../src/base/values/secret.ts'
import { Edge, LoginService } from '../src/edge/index.ts'
import { createTestCertificates } from '../src/edge/testing/certificates.ts'
import { TestConfiguration } from '../src/edge/testing/configuration.ts'
import { forgetfulLoginStore } from '../src/edge/testing/login/login-store.ts'
import { createLocalTunnel, TestTunnels } from '../src/edge/testing/tunnels.ts'
import { HttpsEdge, HttpsRoute, IpPolicy, IpPolicyRule, TunnelGroupBackend } from '../src/resources/index.ts'
import { sendHttps, type TestResponse } from '../test/support/https-client.ts'

/**
 * Measures the cost of configuration: CPU time of the edge per request over a bare tunnel, a route without modules,
 * routes with 10 and 10,000 IP rules, a route behind a sign-in with a valid session and one with a traffic policy of 20
 * rules, first among 10 edges, then among EDGES (default 100,000), of which 10,000 have policies. The paths alternate in
 * short runs, in reverse order every second round. Each run is compared with the bare one of its round, and the median of
 * all rounds counts, so that other load on the machine has little effect.
 */
const PATHS = ['bare', 'route', 'rules-10', 'rules-10000', 'session', 'policy-20'] as const
type Path = (typeof PATHS)[number]

const ROUNDS = Number(process.env.ROUNDS ?? 15)
const SECONDS = Number(process.env.SECONDS ?? 0.5)
const EDGES_WITH_POLICY = 10_000
const MANY_EDGES = Number(process.env.EDGES ?? 100_000)
// Enough that the edge always finds several requests waiting: the cost per request depends on that.
const CONNECTIONS = 64
const hostOf = (path: string) => `${path}.adit.localhost`

if (process.argv[2] === 'edge') await runEdge(Number(process.argv[3]), Number(process.argv[4]))
else await compare()

interface EdgeProcess {
  readonly child: ChildProcess
  readonly port: number
  /** The cookie of a signed-in session. */
  readonly cookie: string
  readonly edges: number
}

interface ClientPool {
  readonly sockets: readonly TLSSocket[]
  readonly request: string
}

async function compare(): Promise<void> {
  const upstream = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => response.end('hello'))
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  const { port } = upstream.address() as AddressInfo
  const processes = [await startEdgeProcess(10, port), await startEdgeProcess(MANY_EDGES, port)]
  const cases: { key: string; child: ChildProcess; clients: ClientPool }[] = []
  for (const edgeProcess of processes)
    for (const path of PATHS) {
      const clients = await connectClients(edgeProcess, path)
      cases.push({ key: `${edgeProcess.edges} edges, ${path}`, child: edgeProcess.child, clients })
    }
  const rounds: Map<string, number>[] = []
  // The first two rounds warm up and are not counted.
  for (let round = -2; round < ROUNDS; round++) {
    const costs = new Map<string, number>()
    for (const { key, child, clients } of round % 2 === 0 ? cases : cases.toReversed()) {
      const before = await readCpuMicroseconds(child)
      const requests = await sendRequests(clients)
      costs.set(key, ((await readCpuMicroseconds(child)) - before) / requests)
    }
    if (round >= 0) rounds.push(costs)
  }
  for (const { key } of cases) {
    const cost = median(rounds.map((costs) => costs.get(key)!))
    const share = median(rounds.map((costs) => costs.get(key)! / costs.get('10 edges, bare')!))
    console.log(
      `${key.padEnd(28)} ${cost.toFixed(1).padStart(7)} µs  ${((share - 1) * 100).toFixed(1).padStart(6)} % more than bare`,
    )
  }
  upstream.close()
  for (const { child } of processes) child.kill()
}

async function startEdgeProcess(edges: number, upstream: number): Promise<EdgeProcess> {
  const child = fork(import.meta.filename, ['edge', String(edges), String(upstream)])
  const [ready] = (await once(child, 'message')) as [{ port: number; cookie: string }]
  return { child, edges, ...ready }
}

async function readCpuMicroseconds(child: ChildProcess): Promise<number> {
  child.send('usage')
  const [microseconds] = (await once(child, 'message')) as [number]
  return microseconds
}

/** Opens connections to one path before anything is measured: a handshake costs as much as dozens of requests. */
async function connectClients({ port, cookie }: EdgeProcess, path: Path): Promise<ClientPool> {
  const servername = hostOf(path)
  const sockets = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      return socket
    }),
  )
  // The same bytes on every path, so that only their processing differs.
  const request = `GET / HTTP/1.1\r\nHost: ${servername}:${port}\r\nCookie: ${cookie}\r\n\r\n`
  return { sockets, request }
}

/** Keeps one request in flight on each connection and returns the number of responses. */
async function sendRequests({ sockets, request }: ClientPool): Promise<number> {
  const deadline = performance.now() + SECONDS * 1000
  let requests = 0
  await Promise.all(
    sockets.map(
      (socket) =>
        new Promise<void>((resolve) => {
          socket.on('data', (chunk) => {
            if (!chunk.toString('latin1').endsWith('hello')) throw new Error(`unexpected response: ${chunk}`)
            requests++
            if (performance.now() < deadline) {
              socket.write(request)
              return
            }
            socket.removeAllListeners('data')
            resolve()
          })
          socket.write(request)
        }),
    ),
  )
  return requests
}

async function runEdge(edges: number, port: number): Promise<void> {
  const tunnels = new TestTunnels().add(hostOf('bare'), createLocalTunnel(port, { proto: 'https' }))
  tunnels.tunnels.push(createLocalTunnel(port, { labels: { app: 'bench' } }))
  const { ca, lookup } = await createTestCertificates('adit.localhost')
  const local = { host: '127.0.0.1', port: 0 }
  const tcp = { host: '127.0.0.1', first: 21_000, last: 21_999 }
  const logins = new LoginService({
    // An identity provider that accepts every user.
    outbound: {
      fetch: async (url) =>
        String(url).endsWith('/token')
          ? Response.json({ access_token: 'x', token_type: 'Bearer' })
          : Response.json({ sub: '42', name: 'Ada', email: 'ada@example.com', email_verified: true }),
    },
    clock: systemClock,
    key: new Secret(randomBytes(32)),
    idpUrl: () => `https://${hostOf('idp')}`,
    store: forgetfulLoginStore,
  })
  const edge = new Edge({
    tunnels,
    log: silentLog,
    certificates: lookup,
    logins,
    loginHost: hostOf('idp'),
    config: { http: false, https: local, tcp },
  })
  await edge.start()
  const config = new TestConfiguration(edge)
  const backend = { backend_id: config.create(TunnelGroupBackend, { labels: { app: 'bench' } }) }
  const addEdge = (path: string, modules: object = {}) => {
    const edge_id = config.create(HttpsEdge, { hostports: [`${hostOf(path)}:443`] })
    config.create(HttpsRoute, { edge_id, match_type: 'path_prefix', match: '/', backend, ...modules })
  }
  addEdge('route')
  for (const rules of [10, 10_000]) {
    const policy = config.create(IpPolicy, {}, newId('ipp'))
    config.create(IpPolicyRule, { ip_policy_id: policy, cidr: '127.0.0.0/8', action: 'allow' })
    for (let index = 1; index < rules; index++)
      config.create(IpPolicyRule, {
        ip_policy_id: policy,
        cidr: `10.${index >> 8}.${index & 255}.0/24`,
        action: 'deny',
      })
    addEdge(`rules-${rules}`, { ip_restriction: { ip_policy_ids: [policy] } })
  }
  addEdge('policy-20', policyOf(20))
  addEdge('session', {
    oauth: { provider: { google: { client_id: 'app', client_secret: 'secret', scopes: [] } } },
  })
  for (let index = 5; index < edges; index++)
    addEdge(`other-${index}`, index < EDGES_WITH_POLICY ? policyOf(4) : {})
  while (!edge.scopes.settled) await new Promise((resolve) => setTimeout(resolve, 50))
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.(user + system)
  })
  const { port: httpsPort } = edge.addresses.https!
  process.send?.({ port: httpsPort, cookie: await signIn(httpsPort, ca) })
}

/** Signs in as a browser does and returns the cookies of the session. */
async function signIn(port: number, ca: string): Promise<string> {
  const host = hostOf('session')
  const cookiesOf = ({ headers }: TestResponse) =>
    [headers['set-cookie'] ?? []]
      .flat()
      .filter((line) => !line.includes('Max-Age=0'))
      .map((line) => line.split(';', 1)[0])
      .join('; ')
  const redirect = await sendHttps(port, ca, { host })
  const state = new URL(String(redirect.headers.location)).searchParams.get('state')
  // The provider sends the browser to the login host, which sends it back with a ticket.
  const redeemed = await sendHttps(port, ca, {
    host: hostOf('idp'),
    path: `/oauth2/callback?code=c&state=${state}`,
  })
  if (redeemed.status !== 303) throw new Error(`sign-in failed with ${redeemed.status}: ${redeemed.text}`)
  const ticket = new URL(String(redeemed.headers.location))
  const signedIn = await sendHttps(port, ca, {
    host,
    path: `${ticket.pathname}${ticket.search}`,
    headers: { cookie: cookiesOf(redirect) },
  })
  if (signedIn.status !== 303) throw new Error(`sign-in failed with ${signedIn.status}: ${signedIn.text}`)
  return cookiesOf(signedIn)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

/** A policy with rules as people write them: by path, method, header and address. None of them applies. */
function policyOf(rules: number): object {
  const on_http_request = Array.from({ length: rules }, (_, index) => ({
    expressions: [
      [`req.url.path.startsWith('/private-${index}/')`],
      [`req.method == 'DELETE' && req.url.path == '/items/${index}'`],
      [`hasReqHeader('x-block-${index}')`],
      [`inCidrRange(conn.client_ip, '10.${index}.0.0/16')`],
    ][index % 4],
    actions: [{ type: 'deny' }],
  }))
  return { traffic_policy: { value: JSON.stringify({ on_http_request }) } }
}
