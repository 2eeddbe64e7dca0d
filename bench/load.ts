import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'

/** Requests to send over and over, as bytes. */
export interface Load {
  readonly port: number
  /** The process that answers. */
  readonly pid: number
  readonly connections: number
  readonly seconds: number
  readonly requests: readonly Buffer[]
  /** The status that counts; any other ends the run. */
  readonly status: number
}

const HEAD_END = Buffer.from('\r\n\r\n')

/** How fast requests were answered, and what each cost the process that answered them. */
export interface LoadResult {
  readonly perSecond: number
  /** Processor time for each request in microseconds: what other programs on the machine do hardly touches it. */
  readonly cpu: number
}

/** One request at a time on each connection. Plain sockets: the client must not be what is measured. */
export async function measure(load: Load): Promise<LoadResult> {
  await runLoad(load, Math.min(1, load.seconds / 2))
  const before = cpuMicroseconds(load.pid)
  const { answered, seconds } = await runLoad(load, load.seconds)
  return { perSecond: answered / seconds, cpu: (cpuMicroseconds(load.pid) - before) / answered }
}

/** Microseconds that a process has used so far, from /proc, which counts hundredths of a second. */
function cpuMicroseconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10_000
}

async function runLoad(load: Load, seconds: number): Promise<{ answered: number; seconds: number }> {
  const state = { sent: 0, answered: 0, done: false }
  const startedAt = performance.now()
  const clients = Array.from({ length: load.connections }, () => runClient(load, state))
  const timer = setTimeout(() => {
    state.done = true
  }, seconds * 1000)
  // Never asleep: waking this process up would cost the server on each of its answers, the more the slower it is.
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
  return { answered: state.answered, seconds: (performance.now() - startedAt) / 1000 }
}

function runClient(
  { port, requests, status }: Load,
  state: { sent: number; answered: number; done: boolean },
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
        return reject(new Error(`unexpected answer: ${pending.toString('latin1', 0, 600)}`))
      }
      pending = Buffer.alloc(0)
      state.answered += 1
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
