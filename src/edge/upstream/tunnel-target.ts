import type { ByteStream } from '../../base/io/stream.ts'
import type { Target } from '../backend.ts'
import type { Core } from '../core.ts'
import type { Tunnel, Visitor } from '../tunnels.ts'
import { type IdleBudget, UpstreamPool } from './pool.ts'

/** A tunnel as something to connect to. */
export class TunnelTarget implements Target {
  readonly pool: UpstreamPool
  readonly #tunnel: Tunnel

  constructor(core: Core, tunnel: Tunnel, budget: IdleBudget, via: Visitor['via'], proto: 'http' | 'https') {
    this.#tunnel = tunnel
    this.pool = new UpstreamPool(core, {
      via,
      proto,
      budget,
      // With the PROXY protocol a connection announces one visitor, so it cannot serve another.
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

  open(visitor: Visitor): ByteStream {
    return this.#tunnel.open(visitor)
  }
}

/** The idle connections of an agent session are counted together, over all its tunnels. */
export class IdleBudgets {
  readonly #known = new Map<string, WeakRef<IdleBudget>>()
  readonly #gone = new FinalizationRegistry<string>((id) => {
    if (this.#known.get(id)?.deref() === undefined) this.#known.delete(id)
  })

  of(sessionId: string): IdleBudget {
    const known = this.#known.get(sessionId)?.deref()
    if (known !== undefined) return known
    const budget: IdleBudget = { idle: 0 }
    this.#known.set(sessionId, new WeakRef(budget))
    this.#gone.register(budget, sessionId)
    return budget
  }
}
