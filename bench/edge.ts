import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { connect } from 'node:tls'
import { newId } from '../src/base/id.ts'
import { silentLog } from '../src/base/log.ts'
import { createEdge } from '../src/edge/index.ts'
import { testCertificates } from '../src/edge/testing/certificates.ts'
import { TestConfiguration } from '../src/edge/testing/configuration.ts'
import { localTunnel, TestTunnels } from '../src/edge/testing/tunnels.ts'
import { HttpsEdge, HttpsRoute, IpPolicy, IpPolicyRule, TunnelGroupBackend } from '../src/resources/index.ts'

/**
 * What configuration costs: processor time of the edge for each request over a bare tunnel, a route without modules and
 * routes with 10 and 10,000 IP rules, first beside 10 edges, then beside EDGES (100,000 unless set). The paths take
 * turns; the median of all turns counts.
 */
const PATHS = ['bare', 'route', 'rules-10', 'rules-10000'] as const
type Path = (typeof PATHS)[number]

const ROUNDS = Number(process.env.ROUNDS ?? 5)
const SECONDS = Number(process.env.SECONDS ?? 1)
const MANY_EDGES = Number(process.env.EDGES ?? 100_000)
const CONNECTIONS = 16
const hostOf = (path: string) => `${path}.adit.localhost`

if (process.argv[2] === 'edge') await runEdge(Number(process.argv[3]), Number(process.argv[4]))
else await compare()

async function compare(): Promise<void> {
  const upstream = createServer({ keepAliveTimeout: 60_000 }, (_request, response) => response.end('hello'))
  await once(upstream.listen(0, '127.0.0.1'), 'listening')
  const { port } = upstream.address() as AddressInfo
  const few = await startEdgeProcess(10, port)
  const many = await startEdgeProcess(MANY_EDGES, port)
  const costs = new Map<string, number[]>()
  // The first round warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round++)
    for (const { child, port: edgePort, edges } of [few, many])
      for (const path of PATHS) {
        const before = await usageOf(child)
        const requests = await load(edgePort, path)
        const cost = ((await usageOf(child)) - before) / requests
        const key = `${edges} edges, ${path}`
        if (round > 0) costs.set(key, [...(costs.get(key) ?? []), cost])
      }
  const bare = median(costs.get('10 edges, bare')!)
  for (const [key, all] of costs)
    console.log(
      `${key.padEnd(28)} ${median(all).toFixed(1).padStart(7)} µs  ${((median(all) / bare - 1) * 100).toFixed(1).padStart(6)} % more than bare`,
    )
  upstream.close()
  few.child.kill()
  many.child.kill()
}

async function startEdgeProcess(
  edges: number,
  upstream: number,
): Promise<{ child: ChildProcess; port: number; edges: number }> {
  const child = fork(import.meta.filename, ['edge', String(edges), String(upstream)])
  const [port] = (await once(child, 'message')) as [number]
  return { child, port, edges }
}

async function usageOf(child: ChildProcess): Promise<number> {
  child.send('usage')
  const [microseconds] = (await once(child, 'message')) as [number]
  return microseconds
}

/** Keeps one request under way on each connection; how many were answered. */
async function load(port: number, path: Path): Promise<number> {
  const servername = hostOf(path)
  const request = `GET / HTTP/1.1\r\nHost: ${servername}:${port}\r\n\r\n`
  const end = performance.now() + SECONDS * 1000
  let requests = 0
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false })
      await once(socket, 'secureConnect')
      socket.on('data', (piece) => {
        if (!piece.toString('latin1').endsWith('hello')) throw new Error(`unexpected answer: ${piece}`)
        requests++
        if (performance.now() < end) socket.write(request)
        else socket.end()
      })
      socket.write(request)
      await once(socket, 'close')
    }),
  )
  return requests
}

async function runEdge(edges: number, port: number): Promise<void> {
  const tunnels = new TestTunnels().add(hostOf('bare'), localTunnel(port, { proto: 'https' }))
  tunnels.tunnels.push(localTunnel(port, { labels: { app: 'bench' } }))
  const { lookup } = await testCertificates('adit.localhost')
  const local = { host: '127.0.0.1', port: 0 }
  const tcp = { host: '127.0.0.1', first: 21_000, last: 21_999 }
  const edge = createEdge({
    tunnels,
    log: silentLog,
    certificates: lookup,
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
  for (let index = 3; index < edges; index++) addEdge(`other-${index}`)
  while (!edge.places.settled) await new Promise((resolve) => setTimeout(resolve, 50))
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.(user + system)
  })
  process.send?.(edge.addresses.https?.port)
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}
