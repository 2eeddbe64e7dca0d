import { createServer, type Server, type Socket } from 'node:net'
import { Admission, type AdmissionLimits } from '../../base/admission.ts'
import { resetSocket } from '../../base/io/reset.ts'
import type { Core } from '../core.ts'
import type { PublicPorts } from '../tunnels.ts'
import { SocketConnection } from './socket-connection.ts'
import { admit, RawVisitor } from './tcp-proxy.ts'

export interface PortRange {
  readonly host: string
  readonly first: number
  readonly last: number
}

/** How long a released port is not given to anyone who did not ask for it by number: old visitors still know it. */
const REST = 10 * 60_000

/** Public TCP ports, opened when someone is there to be reached and closed with them. */
export class TcpPorts implements PublicPorts {
  readonly #core: Core
  readonly #range: PortRange
  readonly #open = new Map<number, Server>()
  /** Ports let go, with the monotonic time of it, oldest first. */
  readonly #resting = new Map<number, number>()
  /** All ports together take as many connections as any other listener. */
  readonly #admission: Admission
  #next: number

  constructor(core: Core, range: PortRange, limits: AdmissionLimits) {
    this.#core = core
    this.#range = range
    this.#admission = new Admission(limits)
    this.#next = range.first + Math.floor(Math.random() * (range.last - range.first + 1))
  }

  async acquire(port?: number, avoided: ReadonlySet<number> = new Set()): Promise<number> {
    if (port !== undefined) {
      if (port < this.#range.first || port > this.#range.last) {
        throw new Error(
          `Port ${port} is not among the public ports ${this.#range.first}-${this.#range.last}.`,
        )
      }
      await this.#listen(port)
      return port
    }
    for (const candidate of this.#candidates()) {
      if (avoided.has(candidate)) continue
      try {
        await this.#listen(candidate)
        return candidate
      } catch {
        // Somebody else on this machine has it.
      }
    }
    throw new Error(`All public ports ${this.#range.first}-${this.#range.last} are taken.`)
  }

  release(port: number): void {
    const server = this.#open.get(port)
    if (server === undefined) return
    this.#open.delete(port)
    this.#resting.delete(port)
    this.#resting.set(port, this.#core.clock.monotonic())
    server.close()
  }

  /** Stops accepting on all ports. */
  close(): void {
    for (const port of [...this.#open.keys()]) this.release(port)
  }

  /** Free ports in turn, those let go a moment ago last, the longest rested of them first. */
  *#candidates(): Generator<number> {
    const { first, last } = this.#range
    const now = this.#core.clock.monotonic()
    for (const [port, since] of this.#resting) if (now - since > REST) this.#resting.delete(port)
    for (let n = last - first; n >= 0; n--) {
      const port = this.#next
      this.#next = port === last ? first : port + 1
      if (!this.#open.has(port) && !this.#resting.has(port)) yield port
    }
    yield* [...this.#resting.keys()].filter((port) => !this.#open.has(port))
  }

  async #listen(port: number): Promise<void> {
    if (this.#open.has(port)) throw new Error(`Port ${port} is taken.`)
    const server = createServer({ allowHalfOpen: true, noDelay: true, keepAlive: true, pauseOnConnect: true })
    // Taken from now on, so that two who ask at once do not both get it.
    this.#open.set(port, server)
    this.#resting.delete(port)
    server.on('connection', (socket) => this.#onConnection(port, socket))
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject)
        server.listen(port, this.#range.host, () => {
          server.off('error', reject)
          server.on('error', () => {})
          resolve()
        })
      })
    } catch (error) {
      this.#open.delete(port)
      throw error
    }
  }

  #onConnection(port: number, socket: Socket): void {
    const core = this.#core
    socket.on('error', () => {})
    const ends = this.#admission.admit(socket)
    if (ends === undefined) return
    const entry = core.table.tcp(port)
    const connection = new SocketConnection(ends, 'tcp', core.clock.now())
    if (entry === undefined || !admit(core, connection, entry)) {
      resetSocket(socket)
      return
    }
    RawVisitor.start({
      core,
      socket,
      transport: socket,
      connection,
      entry,
      proto: 'tcp',
      passthroughTls: false,
      first: undefined,
      current: () => core.table.tcp(port),
    })
    socket.resume()
  }
}
