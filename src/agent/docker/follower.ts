import { setTimeout as delay } from 'node:timers/promises'
import { errorMessage } from '../../base/text/error-message.ts'
import { systemClock } from '../../base/values/clock.ts'
import { Backoff } from '../connect/backoff.ts'
import type { AgentLog } from '../log/log.ts'
import type { AgentTunnelSpec } from '../spec/spec.ts'
import { tunnelNames } from '../tunnels/bind-request.ts'
import type { Tunnels } from '../tunnels/tunnels.ts'
import type { Container, ContainerEngine } from './engine.ts'

interface FollowerOptions {
  readonly engine: ContainerEngine
  readonly tunnels: Pick<Tunnels, 'start' | 'stop'>
  /** The tunnels that the labels of a container ask for. */
  specsOf(container: Container): AgentTunnelSpec[]
  /** Tells the user why a container has no endpoint. */
  notice(text: string): void
  readonly log: AgentLog
}

/** A tunnel of a container that is started or starting. */
interface Followed {
  readonly spec: AgentTunnelSpec
  /** The spec as text: a change of it replaces the tunnel. */
  readonly text: string
  readonly started: Promise<boolean>
}

/** How long to wait before a tunnel that could not start is tried again. */
const RETRY_MS = 5_000
const MAX_RECONNECT_MS = 2_000

/** Keeps the tunnels of an agent equal to what the labels of the running containers ask for. */
export class ContainerFollower {
  readonly #options: FollowerOptions
  readonly #stop = new AbortController()
  readonly #tunnels = new Map<string, Followed>()
  /** Why which container or tunnel is missing, as the user has read. */
  readonly #reported = new Map<string, string>()
  #isReconciling = false
  #isStale = false
  #retry: NodeJS.Timeout | undefined

  constructor(options: FollowerOptions) {
    this.#options = options
  }

  /** Follows the engine until `close`. After an interruption the list of containers is read again. */
  async run(): Promise<void> {
    const { engine, log } = this.#options
    const { signal } = this.#stop
    const backoff = new Backoff({ clock: systemClock, maxMs: MAX_RECONNECT_MS })
    while (!signal.aborted) {
      try {
        await engine.follow(signal, () => {
          backoff.reset()
          this.#reconcile()
        })
      } catch (error) {
        if (signal.aborted) return
        log.warn('container engine not reachable', {
          obj: 'docker',
          host: engine.host,
          err: errorMessage(error),
        })
      }
      // Tunnels stay: containers run on while the engine restarts.
      await delay(backoff.next(), undefined, { signal }).catch(() => {})
    }
  }

  close(): void {
    this.#stop.abort()
    clearTimeout(this.#retry)
  }

  /** Reads the list and applies it; events that arrive meanwhile cause one more run. */
  #reconcile(): void {
    this.#isStale = true
    if (this.#isReconciling) return
    this.#isReconciling = true
    void this.#reconcileUntilCurrent().finally(() => {
      this.#isReconciling = false
    })
  }

  async #reconcileUntilCurrent(): Promise<void> {
    const { engine, log } = this.#options
    while (this.#isStale && !this.#stop.signal.aborted) {
      this.#isStale = false
      try {
        await this.#apply(await engine.list(this.#stop.signal))
      } catch (error) {
        if (this.#stop.signal.aborted) return
        log.warn('containers not listed', { obj: 'docker', err: errorMessage(error) })
        this.#retryLater()
      }
    }
  }

  async #apply(containers: readonly Container[]): Promise<void> {
    const desired = new Map<string, { spec: AgentTunnelSpec; text: string }>()
    for (const container of containers)
      for (const spec of this.#specsOf(container))
        desired.set(spec.name, { spec, text: JSON.stringify(spec) })
    const names = new Set([...containers.map(({ name }) => name), ...desired.keys()])
    for (const name of this.#reported.keys()) if (!names.has(name)) this.#reported.delete(name)
    const obsolete = [...this.#tunnels].filter(([name, { text }]) => desired.get(name)?.text !== text)
    await Promise.all(obsolete.map(([name, followed]) => this.#stopTunnel(name, followed)))
    for (const [name, { spec, text }] of desired)
      if (!this.#tunnels.has(name)) this.#tunnels.set(name, { spec, text, started: this.#start(spec) })
  }

  #specsOf(container: Container): AgentTunnelSpec[] {
    try {
      return this.#options.specsOf(container)
    } catch (error) {
      const { name } = container
      const reason = errorMessage(error)
      this.#options.log.warn('labels of container not usable', {
        obj: 'docker',
        container: name,
        err: reason,
      })
      this.#reportOnce(name, `The labels of the container ${name} cannot be used: ${reason}`)
      return []
    }
  }

  /** A container is listed often, and a tunnel that cannot start is tried again and again. */
  #reportOnce(name: string, text: string): void {
    if (this.#reported.get(name) === text) return
    this.#reported.set(name, text)
    this.#options.notice(text)
  }

  async #start(spec: AgentTunnelSpec): Promise<boolean> {
    const { tunnels, log } = this.#options
    try {
      await tunnels.start(spec)
      this.#reported.delete(spec.name)
      return true
    } catch (error) {
      const { name } = spec
      const reason = errorMessage(error)
      log.warn('tunnel of container not started', { obj: 'docker', name, err: reason })
      this.#reportOnce(name, `The endpoint of the container ${name} cannot be opened: ${reason}`)
      this.#tunnels.delete(name)
      this.#retryLater()
      return false
    }
  }

  async #stopTunnel(name: string, { spec, started }: Followed): Promise<void> {
    this.#tunnels.delete(name)
    if (!(await started)) return
    await Promise.all(tunnelNames(spec).map((each) => this.#options.tunnels.stop(each)))
  }

  #retryLater(): void {
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#reconcile(), RETRY_MS)
    this.#retry.unref()
  }
}
