import { setTimeout as delay } from 'node:timers/promises'
import { joinHostPort } from '../../base/values/hostport.ts'
import { ProtocolError, RETRYABLE_ERRORS } from '../../protocol/index.ts'
import { hasEndpoint, type LiveTunnel } from '../session/live-tunnel.ts'
import type { Screen } from './screen.ts'
import type { ForwardTarget } from './transport/ssh2.ts'

/** One `-R` of a client. */
export interface Forward {
  readonly target: ForwardTarget
  /** The port the client identifies it by: the requested one, or the assigned one for 0. */
  port: number
}

interface PendingForward extends Forward {
  accept(port?: number): void
  reject(): void
}

interface BoundForward extends Forward {
  readonly tunnel: LiveTunnel
  /** The forward as the user wrote it. */
  readonly text: string
  stopWatching(): void
}

/** The connection of the forwards. */
export interface ForwardsOptions {
  bind(forward: Forward): Promise<LiveTunnel> | LiveTunnel
  unbind(bindId: string): Promise<void>
  notify(event: (screen: Screen) => void): void
  errorText(error: unknown): string
  /** Starts logging the tunnel's requests; returns the function that stops it. */
  watch(tunnel: LiveTunnel): () => void
}

const MAX_FORWARDS = 10

/** How long, and how often, a forward retries a name that is about to be released. */
const BIND_TIMEOUT_MS = 30_000
const RETRY_INTERVAL_MS = 500

/** Pending requests; further ones are rejected without a reason. */
const MAX_PENDING = 3 * MAX_FORWARDS

/** The forwards of one connection: pending ones, which wait for the command, and bound ones. */
export class Forwards {
  readonly #options: ForwardsOptions
  readonly #bound = new Map<string, BoundForward>()
  #pending: PendingForward[] = []
  #binding: Promise<void> = Promise.resolve()
  #bindingCount = 0
  #labelledCount = 0
  #closed = false
  /** True when at least one forward was rejected. */
  hasRejected = false

  constructor(options: ForwardsOptions) {
    this.#options = options
  }

  get bound(): BoundForward[] {
    return [...this.#bound.values()]
  }

  /** True while a tunnel is bound, pending or being bound. */
  get hasForwards(): boolean {
    return this.#bound.size + this.#pending.length + this.#bindingCount > 0
  }

  add(request: Omit<PendingForward, 'port'>): void {
    if (this.#pending.length + this.#bindingCount >= MAX_PENDING) {
      request.reject()
      return
    }
    this.#pending.push({ ...request, port: request.target.bindPort })
  }

  /** Binds all pending forwards in order; resolves when each is bound or rejected. */
  bindAll(): Promise<void> {
    const pending = this.#pending
    this.#pending = []
    this.#bindingCount += pending.length
    this.#binding = this.#binding.then(async () => {
      for (const forward of pending) {
        await this.#bindOne(forward)
        this.#bindingCount--
      }
    })
    return this.#binding
  }

  /** The command is invalid: rejects all pending forwards. */
  rejectAll(): void {
    for (const { reject } of this.#pending) reject()
    this.#pending = []
    this.hasRejected = true
  }

  /** False when there is no such forward. Open connections continue, as with OpenSSH's server. */
  async cancel(target: ForwardTarget): Promise<boolean> {
    const match = this.bound.find(
      (bound) => bound.target.bindAddr === target.bindAddr && bound.port === target.bindPort,
    )
    if (match === undefined) return false
    this.#remove(match)
    await this.#options.unbind(match.tunnel.bindId)
    return true
  }

  /** The server ended the tunnel. */
  onTunnelEnded(bindId: string): void {
    const match = this.bound.find(({ tunnel }) => tunnel.bindId === bindId)
    if (match !== undefined) this.#remove(match)
  }

  close(): void {
    this.#closed = true
    this.#pending = []
    for (const bound of this.bound) this.#remove(bound)
  }

  async #bindOne(forward: PendingForward): Promise<void> {
    const text = formatTarget(forward.target)
    try {
      if (this.#closed) return
      this.#requireCapacity(forward.target)
      const tunnel = await this.#bindWithRetry(forward, text)
      // For port 0 the client needs a port number, unique within the connection.
      forward.port =
        forward.target.bindPort || (hasEndpoint(tunnel) ? tunnel.address.port : ++this.#labelledCount)
      if (this.#bound.has(forwardKey(forward))) {
        await this.#options.unbind(tunnel.bindId)
        throw new ForwardRejected(DUPLICATE_FORWARD)
      }
      const bound = { ...forward, tunnel, text, stopWatching: this.#options.watch(tunnel) }
      this.#bound.set(forwardKey(forward), bound)
      forward.accept(forward.port)
      this.#options.notify((screen) => screen.tunnel(tunnel, text))
    } catch (error) {
      this.hasRejected = true
      forward.reject()
      const reason = error instanceof ForwardRejected ? error.message : this.#options.errorText(error)
      this.#options.notify((screen) => screen.rejected(text, reason))
    }
  }

  /** SSH clients cannot retry, so transient errors are retried here. */
  async #bindWithRetry(forward: PendingForward, text: string): Promise<LiveTunnel> {
    const deadline = performance.now() + BIND_TIMEOUT_MS
    let notified = false
    for (;;) {
      try {
        return await this.#options.bind(forward)
      } catch (error) {
        const retryable = error instanceof ProtocolError && RETRYABLE_ERRORS.has(error.number)
        if (!retryable || this.#closed || performance.now() > deadline) throw error
        if (!notified) this.#options.notify((screen) => screen.waiting(text, error.message))
        notified = true
        await delay(RETRY_INTERVAL_MS)
      }
    }
  }

  #requireCapacity(target: ForwardTarget): void {
    if (this.#bound.size >= MAX_FORWARDS)
      throw new ForwardRejected(`A connection may have ${MAX_FORWARDS} forwards. Open another one.`)
    if (target.bindPort !== 0 && this.#bound.has(forwardKey({ target, port: target.bindPort })))
      throw new ForwardRejected(DUPLICATE_FORWARD)
  }

  #remove(bound: BoundForward): void {
    bound.stopWatching()
    this.#bound.delete(forwardKey(bound))
  }
}

class ForwardRejected extends Error {}

const DUPLICATE_FORWARD =
  'This connection forwards that address already, and the client could not tell the two apart. Give one of them a name, or open another connection.'

function forwardKey({ target, port }: Forward): string {
  return `${target.bindAddr}\0${port}`
}

function formatTarget({ bindAddr, bindPort }: ForwardTarget): string {
  return bindAddr === '' || bindAddr === 'localhost' ? String(bindPort) : joinHostPort(bindAddr, bindPort)
}
