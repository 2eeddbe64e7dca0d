import type { ByteStream } from '../../base/io/streams/stream.ts'
import type { UpstreamTarget } from '../contracts/backend.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import type { ClientInfo, Tunnel } from '../contracts/tunnels.ts'
import { type IdleBudget, UpstreamPool } from './pool.ts'

/** A tunnel as an upstream target. */
export class TunnelTarget implements UpstreamTarget {
  readonly pool: UpstreamPool
  readonly #tunnel: Tunnel

  constructor(
    runtime: EdgeRuntime,
    tunnel: Tunnel,
    budget: IdleBudget,
    via: ClientInfo['via'],
    proto: 'http' | 'https',
  ) {
    this.#tunnel = tunnel
    this.pool = new UpstreamPool(runtime, {
      via,
      proto,
      budget,
      // With the PROXY protocol a connection announces one client, so it cannot serve another.
      shared: tunnel.options.proxyProto === 0,
      http2: tunnel.forwardsProto === 'http2',
    })
  }

  get name(): string {
    return this.#tunnel.forwardsTo
  }

  get tunnelId(): string {
    return this.#tunnel.id
  }

  get pathRevision(): number | undefined {
    return this.#tunnel.pathRevision
  }

  open(client: ClientInfo): ByteStream {
    return this.#tunnel.open(client)
  }
}

/** The budgets of idle connections, one per agent session for all its tunnels. */
export class IdleBudgets {
  readonly #budgets = new Map<string, WeakRef<IdleBudget>>()
  readonly #finalizer = new FinalizationRegistry<string>((id) => {
    if (this.#budgets.get(id)?.deref() === undefined) this.#budgets.delete(id)
  })

  forSession(sessionId: string): IdleBudget {
    const existing = this.#budgets.get(sessionId)?.deref()
    if (existing !== undefined) return existing
    const budget: IdleBudget = { idle: 0 }
    this.#budgets.set(sessionId, new WeakRef(budget))
    this.#finalizer.register(budget, sessionId)
    return budget
  }
}
