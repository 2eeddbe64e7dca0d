import type { Logger } from '../../base/log.ts'
import type { PublicPorts } from '../tunnels.ts'

/** How long to wait before a port that could not be opened is tried again, in milliseconds. */
const RETRY_INTERVAL_MS = 2_000

/** Keeps the public ports of TCP edges open, and no others. A port that somebody else has is tried again. */
export class EdgePorts {
  readonly #ports: PublicPorts
  readonly #log: Logger
  readonly #openPorts = new Set<number>()
  readonly #pendingPorts = new Set<number>()
  #desiredPorts: ReadonlySet<number> = new Set()
  #retryTimer: NodeJS.Timeout | undefined

  constructor(ports: PublicPorts, log: Logger) {
    this.#ports = ports
    this.#log = log
  }

  /** The ports that edges serve from now on. */
  setDesired(ports: ReadonlySet<number>): void {
    this.#desiredPorts = ports
    for (const port of this.#openPorts) {
      if (ports.has(port)) continue
      this.#openPorts.delete(port)
      this.#ports.release(port)
    }
    for (const port of ports) {
      if (!this.#openPorts.has(port) && !this.#pendingPorts.has(port)) void this.#open(port)
    }
  }

  stop(): void {
    clearTimeout(this.#retryTimer)
    this.setDesired(new Set())
  }

  async #open(port: number): Promise<void> {
    this.#pendingPorts.add(port)
    try {
      await this.#ports.acquire(port)
      this.#openPorts.add(port)
    } catch (error) {
      this.#log.warn({ err: error, port }, 'the port of a TCP edge cannot be opened and will be tried again')
      this.#retryTimer ??= setTimeout(() => {
        this.#retryTimer = undefined
        this.setDesired(this.#desiredPorts)
      }, RETRY_INTERVAL_MS).unref()
    }
    this.#pendingPorts.delete(port)
    // It may have been given up while it was opened.
    if (!this.#desiredPorts.has(port)) this.setDesired(this.#desiredPorts)
  }
}
