import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

/** Requests to send repeatedly, as bytes. */
export interface Load {
  readonly port: number
  /** The process of the server. */
  readonly pid: number
  readonly connections: number
  readonly seconds: number
  readonly requests: readonly Buffer[]
  /** The expected status; any other fails the run. */
  readonly status: number
}

const HEAD_END = Buffer.from('\r\n\r\n')

/** The throughput, and the CPU time per request. */
export interface LoadResult {
  readonly perSecond: number
  /** CPU time of the server per request, in microseconds; hardly affected by other load on the machine. */
  readonly cpu: number
}

/** Sends one request at a time on each connection. Plain sockets keep the client's own cost low. */
export async function measure(load: Load): Promise<LoadResult> {
  await runLoad(load, Math.min(1, load.seconds / 2))
  const before = cpuMicroseconds(load.pid)
  const { responses, seconds } = await runLoad(load, load.seconds)
  return { perSecond: responses / seconds, cpu: (cpuMicroseconds(load.pid) - before) / responses }
}

/** The CPU time of a process so far in microseconds, from /proc, which counts hundredths of a second. */
function cpuMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

async function runLoad(load: Load, seconds: number): Promise<{ responses: number; seconds: number }> {
  const state = { sent: 0, responses: 0, done: false }
  const startedAt = performance.now()
  const clients = Array.from({ length: load.connections }, () => runClient(load, state))
  const timer = setTimeout(() => {
    state.done = true
  }, seconds * 1000)
  // Busy loop: waking up this process would cost the server time on each response, the more the slower it is.
  const spin = () => {
    if (!state.done) setImmediate(spin)
  }
  spin()
  try {
    await Promise.all(clients)
  } finally {
    clearTimeout(timer)
    state.done = true
  }
  return { responses: state.responses, seconds: (performance.now() - startedAt) / 1000 }
}

function runClient(
  { port, requests, status }: Load,
  state: { sent: number; responses: number; done: boolean },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect({ port, host: '127.0.0.1', noDelay: true })
    const expected = Buffer.from(`HTTP/1.1 ${status} `)
    let pending: Buffer = Buffer.alloc(0)
    const next = () => {
      if (state.done) {
        socket.destroy()
        return resolve()
      }
      socket.write(requests[state.sent++ % requests.length]!)
    }
    socket.on('connect', next)
    socket.on('error', reject)
    socket.on('close', () => (state.done ? resolve() : reject(new Error('the server closed a connection'))))
    socket.on('data', (chunk: Buffer) => {
      pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk])
      const head = pending.indexOf(HEAD_END)
      if (head === -1) return
      const length = /content-length: (\d+)/i.exec(pending.toString('latin1', 0, head))?.[1]
      const total = head + HEAD_END.length + Number(length ?? 0)
      if (pending.length < total) return
      if (!pending.subarray(0, expected.length).equals(expected)) {
        socket.destroy()
        return reject(new Error(`unexpected response: ${pending.toString('latin1', 0, 600)}`))
      }
      pending = Buffer.alloc(0)
      state.responses += 1
      next()
    })
  })
}

/** One request as bytes. */
export function request(method: string, path: string, key: string, body?: object): Buffer {
  const json = body === undefined ? '' : JSON.stringify(body)
  const head = [
    `${method} ${path} HTTP/1.1`,
    'Host: bench',
    `Authorization: Bearer ${key}`,
    ...(body === undefined ? [] : ['Content-Type: application/json', `Content-Length: ${json.length}`]),
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${json}`)
}
