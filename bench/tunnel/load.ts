import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** The result of one measurement. */
export interface Measurement {
  /** Requests per second, or MB per second for bulk. */
  readonly rate: number
  /** The number of requests, or of bytes for bulk. */
  readonly count: number
  readonly p50?: number
  readonly p99?: number
  /** Resident memory that the load holds, in MiB. */
  readonly growthMib?: number
}

export interface HttpTarget {
  readonly port: number
  readonly host: string
}

/** Measures keep-alive requests with wrk, in one thread. */
export async function measureRequests(
  { port, host }: HttpTarget,
  path: string,
  connections: number,
  seconds: number,
): Promise<Measurement> {
  const url = `http://127.0.0.1:${port}${path}`
  const args = ['-t1', `-c${connections}`, `-d${seconds}`, '--latency', '-H', `Host: ${host}`, url]
  const { stdout } = await run('wrk', args)
  const failure = /Non-2xx.*|Socket errors: connect [1-9].*|read [1-9]\d*,.*/.exec(stdout)
  if (failure !== null) throw new Error(`wrk at ${url}: ${failure[0]}`)
  return {
    rate: Number(/Requests\/sec: +([\d.]+)/.exec(stdout)![1]),
    count: Number(/(\d+) requests in/.exec(stdout)![1]),
    p50: parseMilliseconds(/50% +(\S+)/.exec(stdout)![1]!),
    p99: parseMilliseconds(/99% +(\S+)/.exec(stdout)![1]!),
  }
}

/** Measures requests on new connections with ab, for a time or a number of requests. */
export async function measureNewConnections(
  { port, host }: HttpTarget,
  path: string,
  connections: number,
  duration: { seconds: number } | { requests: number },
): Promise<Measurement> {
  const url = `http://127.0.0.1:${port}${path}`
  const length =
    'seconds' in duration
      ? ['-t', String(duration.seconds), '-n', '1000000']
      : ['-n', String(duration.requests)]
  const limit = [...length, '-c', String(connections)]
  const { stdout } = await run('ab', ['-q', '-r', ...limit, '-H', `Host: ${host}`, url])
  const failed = Number(/Failed requests: +(\d+)/.exec(stdout)![1])
  const nonSuccess = Number(/Non-2xx responses: +(\d+)/.exec(stdout)?.[1] ?? 0)
  if (failed + nonSuccess > 0)
    throw new Error(`ab at ${url}: ${failed} failed, ${nonSuccess} with another status`)
  return {
    rate: Number(/Requests per second: +([\d.]+)/.exec(stdout)![1]),
    count: Number(/Complete requests: +(\d+)/.exec(stdout)![1]),
    p50: Number(/50% +(\d+)/.exec(stdout)![1]),
    p99: Number(/99% +(\d+)/.exec(stdout)![1]),
  }
}

/** Measures TCP throughput with iperf3; `down` is towards the client. */
export async function measureBulk(
  port: number,
  direction: 'down' | 'up',
  streams: number,
  { seconds, rampUpSeconds = 0 }: { seconds: number; rampUpSeconds?: number },
): Promise<Measurement> {
  const time = ['-t', String(seconds), '-O', String(rampUpSeconds)]
  const args = ['-c', '127.0.0.1', '-p', String(port), ...time, '-P', String(streams), '--json']
  const received = await runIperf(direction === 'down' ? [...args, '-R'] : args, seconds + rampUpSeconds)
  return { rate: received.bits_per_second / 8e6, count: received.bytes }
}

const BUSY_RETRY_MS = 5000
const MAX_OVERHEAD_MS = 20_000

/** The iperf3 server runs one test at a time and needs a moment after each, so this retries. */
async function runIperf(
  args: string[],
  seconds: number,
): Promise<{ bits_per_second: number; bytes: number }> {
  const deadline = performance.now() + BUSY_RETRY_MS
  for (;;) {
    try {
      const options = { maxBuffer: 64 * 1024 * 1024, timeout: seconds * 1000 + MAX_OVERHEAD_MS }
      const { stdout } = await run('iperf3', args, options)
      const { end, error } = JSON.parse(stdout)
      if (end.sum_received === undefined) throw new Error(`iperf3: ${error}`)
      return end.sum_received
    } catch (error) {
      if (performance.now() > deadline) throw error
      await new Promise((resolve) => setTimeout(resolve, 100))
    }
  }
}

/** Opens connections that stay idle after one response each; returns the function that closes them. */
export async function openIdle({ port, host }: HttpTarget, path: string, count: number): Promise<() => void> {
  const sockets: Socket[] = []
  const close = () => {
    for (const socket of sockets) socket.destroy()
  }
  while (sockets.length < count) {
    const batch = Array.from({ length: 50 }, () => connect(port, '127.0.0.1'))
    sockets.push(...batch)
    await Promise.all(
      batch.map(async (socket) => {
        socket.on('error', () => {})
        socket.write(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\n\r\n`)
        await once(socket, 'data')
      }),
    )
  }
  return close
}

function parseMilliseconds(text: string): number {
  const [, number, unit] = /^([\d.]+)(us|ms|s)$/.exec(text)!
  return Number(number) * { us: 0.001, ms: 1, s: 1000 }[unit as 'us' | 'ms' | 's']
}
