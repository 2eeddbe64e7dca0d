import type { Logger } from '../../base/log.ts'
import type { PublicPorts } from '../tunnels.ts'

/** How long to wait before a port that could not be opened is tried again, in milliseconds. */
const RETRY = 2_000

/** Keeps the public ports of TCP edges open, and no others. A port that somebody else has is tried again. */
export class EdgePorts {
  readonly #ports: PublicPorts
  readonly #log: Logger
  readonly #held = new Set<number>()
  readonly #opening = new Set<number>()
  #wanted: ReadonlySet<number> = new Set()
  #retry: NodeJS.Timeout | undefined

  constructor(ports: PublicPorts, log: Logger) {
    this.#ports = ports
    this.#log = log
  }

  /** The ports that edges serve from now on. */
  want(ports: ReadonlySet<number>): void {
    this.#wanted = ports
    for (const port of this.#held) {
      if (ports.has(port)) continue
      this.#held.delete(port)
      this.#ports.release(port)
    }
    for (const port of ports) {
      if (!this.#held.has(port) && !this.#opening.has(port)) void this.#open(port)
    }
  }

  stop(): void {
    clearTimeout(this.#retry)
    this.want(new Set())
  }

  async #open(port: number): Promise<void> {
    this.#opening.add(port)
    try {
      await this.#ports.acquire(port)
      this.#held.add(port)
    } catch (error) {
      this.#log.warn({ err: error, port }, 'the port of a TCP edge cannot be opened and will be tried again')
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined
        this.want(this.#wanted)
      }, RETRY).unref()
    }
    this.#opening.delete(port)
    // It may have been given up while it was opened.
    if (!this.#wanted.has(port)) this.want(this.#wanted)
  }
}
