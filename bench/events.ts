// Measures the cost of traffic events: `npm run bench:events`. ROUNDS and SECONDS shorten or lengthen the run.
import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { measureRequests } from './tunnel/load.ts'
import { type BenchPlatform, startAgent, startServer } from './tunnel/platform.ts'
import { cpuSeconds, findFreePort, withPrograms } from './tunnel/processes.ts'
import { pathOf, startUpstream } from './tunnel/upstream.ts'

/**
 * Requests through the server and an agent without a subscription, with one whose sink accepts everything, and with one
 * whose sink is dead. The modes alternate in the same processes, in reverse order every second round. Each measurement is
 * compared with the one of its round without a subscription, and the median of all rounds counts, so that other load on
 * the machine has little effect.
 */
const MODES = ['off', 'on', 'dead'] as const
type Mode = (typeof MODES)[number]

const ROUNDS = Number(process.env.ROUNDS ?? 8)
// The code path of a new subscription is slow for about a second, until it is compiled.
const SECONDS = Number(process.env.SECONDS ?? 5)
const CONNECTIONS = 50
const HOST = 'plain.adit.localhost'
const FIELDS = [
  'conn.client_ip',
  'http.request.method',
  'http.request.url.path',
  'http.response.status_code',
  'http.response.body_length',
]
const SECRET = `whsec_${Buffer.alloc(32, 'bench').toString('base64')}`
const MAX_LOSS = 0.05

interface Measurement {
  readonly rate: number
  /** CPU time of the server per request, in microseconds. */
  readonly cost: number
}

await withPrograms(async (dir) => {
  const sink = createServer(acceptAll)
  try {
    await once(sink.listen(0, '127.0.0.1'), 'listening')
    const { port: sinkPort } = sink.address() as AddressInfo
    const platform = await startServer(dir, ['--outbound-allow', '127.0.0.1'], {
      ADIT_MONITORING_URL: `http://127.0.0.1:${sinkPort}`,
    })
    const upstream = await startUpstream(dir)
    await startAgent(platform, dir, {
      plain: { proto: 'http', addr: upstream.http, url: `http://${HOST}`, inspect: false },
    })
    const live = { monitoring: { api_key: 'key' } }
    const dead = { webhook: { url: `http://127.0.0.1:${await findFreePort()}/`, secret: SECRET } }
    report(await measureRounds(platform, { off: live, on: live, dead }))
  } finally {
    sink.close()
  }
})

/** Accepts every request and reads only its length, so that the sink itself costs little. */
function acceptAll(socket: Socket): void {
  let head = ''
  let bodyBytesLeft = 0
  socket.on('error', () => {})
  socket.on('data', (chunk) => {
    let offset = 0
    while (offset < chunk.length) {
      if (bodyBytesLeft === 0) {
        const end = chunk.indexOf('\r\n\r\n', offset)
        head += chunk.toString('latin1', offset, end === -1 ? chunk.length : end)
        if (end === -1) return
        bodyBytesLeft = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? 0)
        head = ''
        offset = end + 4
      }
      const consumed = Math.min(bodyBytesLeft, chunk.length - offset)
      bodyBytesLeft -= consumed
      offset += consumed
      if (bodyBytesLeft === 0) socket.write('HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n')
    }
  })
}

async function measureRounds(
  platform: BenchPlatform,
  targets: Record<Mode, object>,
): Promise<Record<Mode, Measurement[]>> {
  const measurements: Record<Mode, Measurement[]> = { off: [], on: [], dead: [] }
  const target = { port: platform.port, host: `${HOST}:${platform.port}` }
  // The first round warms up and is not counted.
  for (let round = 0; round <= ROUNDS; round++) {
    for (const mode of round % 2 === 0 ? MODES : MODES.toReversed()) {
      const { destination, unsubscribe } = await subscribe(platform, mode, targets[mode])
      const before = cpuSeconds([platform.edge])
      const { rate, count } = await measureRequests(target, pathOf('128 B'), CONNECTIONS, SECONDS)
      // Delivery belongs to the cost and takes only moments; with a dead sink, events stay queued.
      if (mode === 'on') await waitUntilDelivered(platform, destination)
      const cost = ((cpuSeconds([platform.edge]) - before) * 1e6) / count
      await unsubscribe()
      if (round > 0) measurements[mode].push({ rate, cost })
    }
  }
  return measurements
}

/** Creates a destination, and a subscription unless the mode is off. `unsubscribe` deletes both with their queue. */
async function subscribe(
  { call }: BenchPlatform,
  mode: Mode,
  target: object,
): Promise<{ destination: string; unsubscribe(): Promise<void> }> {
  const { id } = await call('POST', '/event_destinations', { format: 'json', target })
  const paths = [`/event_destinations/${id}`]
  if (mode !== 'off') {
    const sources = [{ type: 'http_request_complete.v0', fields: FIELDS }]
    const subscription = await call('POST', '/event_subscriptions', { sources, destination_ids: [id] })
    paths.unshift(`/event_subscriptions/${subscription.id}`)
  }
  // Changes reach traffic within a second.
  await waitForPropagation()
  return {
    destination: String(id),
    async unsubscribe() {
      for (const path of paths) await call('DELETE', path)
      await waitForPropagation()
    },
  }
}

function waitForPropagation(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 1000))
}

async function waitUntilDelivered({ call }: BenchPlatform, destination: string): Promise<void> {
  for (;;) {
    const { status } = (await call('GET', `/event_destinations/${destination}`)) as {
      status: { backlog: number; dropped: number }
    }
    if (status.dropped > 0) throw new Error(`${status.dropped} events were dropped`)
    if (status.backlog === 0) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}

function report(measurements: Record<Mode, Measurement[]>): void {
  let worst = 0
  for (const mode of MODES) {
    const rate = median(measurements[mode].map((measurement) => measurement.rate))
    const cost = median(measurements[mode].map((measurement) => measurement.cost))
    const loss =
      1 -
      median(measurements[mode].map((measurement, index) => measurement.rate / measurements.off[index]!.rate))
    worst = Math.max(worst, loss)
    console.log(
      `${mode.padEnd(5)}${rate.toFixed(0).padStart(8)} requests/s${cost.toFixed(1).padStart(7)} µs of the server each${(loss * 100).toFixed(1).padStart(7)} % lost`,
    )
  }
  if (worst <= MAX_LOSS) return
  console.error(
    `Traffic events cost ${(worst * 100).toFixed(1)} % of the throughput; ${MAX_LOSS * 100} % are allowed.`,
  )
  process.exitCode = 1
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
