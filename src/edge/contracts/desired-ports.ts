import type { Logger } from '../../base/process/log.ts'
import type { PublicPorts } from './tunnels.ts'

/** Delay before a port that could not be opened is retried. */
const RETRY_INTERVAL_MS = 2_000

/** Reconciles the open public ports with those that the configuration asks for. A port in use by another process is retried. */
export class DesiredPorts {
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

  /** Sets the ports that are served from now on. */
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
      this.#log.warn({ err: error, port }, 'TCP port unavailable: retrying')
      this.#retryTimer ??= setTimeout(() => {
        this.#retryTimer = undefined
        this.setDesired(this.#desiredPorts)
      }, RETRY_INTERVAL_MS).unref()
    }
    this.#pendingPorts.delete(port)
    // The port may have been dropped from the desired set while it was being opened.
    if (!this.#desiredPorts.has(port)) this.setDesired(this.#desiredPorts)
  }
}
