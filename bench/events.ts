import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { systemClock } from '../src/base/clock.ts'
import { silentLog } from '../src/base/log.ts'
import { createOutbound } from '../src/base/outbound.ts'
import { createEdge } from '../src/edge/index.ts'
import { localTunnel, TestTunnels } from '../src/edge/testing/tunnels.ts'
import { createEvents } from '../src/events/index.ts'
import { ACCOUNT, createWriter } from '../src/events/testing/platform.ts'
import { EventDestination } from '../src/resources/index.ts'
import { openStore } from '../src/store/index.ts'

/**
 * What telling of traffic costs: requests through an edge and a tunnel with no subscription, with one whose sink takes
 * everything, and with one whose sink is dead. The three take turns, and each is compared with the turn without a
 * subscription just before it, so that other work on the machine disturbs little; the median of all turns counts.
 * The tunnel is a plain socket, the cheapest there can be: with an agent behind it the same cost weighs less.
 */
const MODES = ['off', 'on', 'dead'] as const
type Mode = (typeof MODES)[number]

const ROUNDS = Number(process.env.ROUNDS ?? 5)
const SECONDS = Number(process.env.SECONDS ?? 2)
const CONNECTIONS = 32
const HOST = 'bench.adit.localhost'
const FIELDS = [
  'conn.client_ip',
  'http.request.method',
  'http.request.url.path',
  'http.response.status_code',
  'http.response.body_length',
]
const ALLOWED_LOSS = 0.05

if (process.argv[2] === 'edge')
  await runEdge(process.argv[3] as Mode, Number(process.argv[4]), process.argv[5]!)
else if (process.argv[2] === 'upstream') await runUpstream()
else await compare()

async function compare(): Promise<void> {
  const sink = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(202).end())
  })
  const sinkPort = await listen(sink)
  const upstream = await startChild('upstream')
  const edges = {} as Record<Mode, Child>
  for (const mode of MODES) {
    const sinkUrl = mode === 'dead' ? 'http://127.0.0.1:1' : `http://127.0.0.1:${sinkPort}`
    edges[mode] = await startChild('edge', mode, String(upstream.port), sinkUrl)
  }
  const turns: Record<Mode, Turn[]> = { off: [], on: [], dead: [] }
  // The first round warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const mode of MODES) {
      const before = await usageOf(edges[mode])
      const { requests, seconds } = await load(edges[mode].port)
      // What was told is delivered within a moment, and belongs to the cost.
      await delay(1500)
      const spent = (await usageOf(edges[mode])) - before
      if (round > 0) turns[mode].push({ rate: requests / seconds, cost: spent / requests })
    }
  }
  const losses = MODES.map((mode) => {
    const rate = median(turns[mode].map((turn) => turn.rate))
    const cost = median(turns[mode].map((turn) => turn.cost))
    const loss = 1 - median(turns[mode].map((turn, index) => turn.rate / turns.off[index]!.rate))
    console.log(
      `${mode.padEnd(5)}${rate.toFixed(0).padStart(8)} requests/s${cost.toFixed(1).padStart(7)} µs of the edge each${(loss * 100).toFixed(1).padStart(7)} % lost`,
    )
    return loss
  })
  for (const child of [upstream, ...Object.values(edges)]) child.process.kill()
  sink.close()
  const worst = Math.max(...losses)
  if (worst > ALLOWED_LOSS) {
    console.error(
      `Telling of traffic costs ${(worst * 100).toFixed(1)} % of the throughput; ${ALLOWED_LOSS * 100} % are allowed.`,
    )
    process.exitCode = 1
  }
}

interface Turn {
  readonly rate: number
  /** Microseconds of processor time for each request. */
  readonly cost: number
}

interface Child {
  readonly process: ChildProcess
  readonly port: number
}

async function startChild(...args: string[]): Promise<Child> {
  const child = fork(import.meta.filename, args)
  const [port] = (await once(child, 'message')) as [number]
  return { process: child, port }
}

async function usageOf({ process: child }: Child): Promise<number> {
  child.send('usage')
  const [microseconds] = (await once(child, 'message')) as [number]
  return microseconds
}

/** Keeps one request under way on each connection for the time of a round. */
async function load(port: number): Promise<{ requests: number; seconds: number }> {
  const request = `GET /hello?name=bench HTTP/1.1\r\nHost: ${HOST}\r\nUser-Agent: bench\r\n\r\n`
  const started = performance.now()
  const end = started + SECONDS * 1000
  let requests = 0
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      await once(socket, 'connect')
      socket.on('data', (data) => {
        // Answers are small: each arrives in one piece, and ends with the body.
        if (!data.toString('latin1').endsWith('hello')) throw new Error(`unexpected answer: ${data}`)
        requests += 1
        if (performance.now() < end) socket.write(request)
        else socket.end()
      })
      socket.write(request)
      await once(socket, 'close')
    }),
  )
  return { requests, seconds: (performance.now() - started) / 1000 }
}

async function runEdge(mode: Mode, upstreamPort: number, sinkUrl: string): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  process.once('exit', () => rmSync(dataDir, { recursive: true, force: true }))
  process.once('SIGTERM', () => process.exit())
  const store = await openStore({
    dataDir,
    masterKeyFile: join(dataDir, 'master.key'),
    clock: systemClock,
    log: silentLog,
  })
  const events = createEvents({
    store,
    outbound: createOutbound({ allow: ['127.0.0.1'] }),
    log: silentLog,
    apiUrl: () => '',
    endpoints: { monitoring: sinkUrl },
  })
  if (mode !== 'off') {
    const writer = createWriter(store)
    const destination = await writer.create(EventDestination, { target: { monitoring: { api_key: 'key' } } })
    await writer.subscribe([destination], { type: 'http_request_complete.v0', fields: FIELDS })
  }
  await events.start()
  const tunnels = new TestTunnels().add(HOST, localTunnel(upstreamPort, { accountId: ACCOUNT }))
  const edge = createEdge({
    tunnels,
    log: silentLog,
    certificates: () => undefined,
    observe: events.observer,
    config: {
      http: { host: '127.0.0.1', port: 0 },
      https: false,
      tcp: { host: '127.0.0.1', first: 21_000, last: 21_999 },
    },
  })
  await edge.start()
  process.on('message', () => {
    const { user, system } = process.cpuUsage()
    process.send?.(user + system)
  })
  process.send?.(edge.addresses.http?.port)
}

async function runUpstream(): Promise<void> {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 5 }).end('hello')
  })
  server.keepAliveTimeout = 60_000
  process.send?.(await listen(server))
}

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
