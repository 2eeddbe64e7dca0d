import { compileRules } from '../base/ip-rules.ts'
import type { ByteStream } from '../base/stream.ts'
import type { Target } from './backend.ts'
import type { Core } from './core.ts'
import type { ConnectionStep, RequestStep } from './module.ts'
import { refusal } from './refusals.ts'
import { type HttpEntry, newCounters, type Route } from './table.ts'
import type { EndpointOptions, Tunnel, Visitor } from './tunnels.ts'
import { type IdleBudget, UpstreamPool } from './upstream-pool.ts'

/** A tunnel as something to connect to. */
export class TunnelTarget implements Target {
  readonly pool: UpstreamPool
  readonly #tunnel: Tunnel

  constructor(core: Core, tunnel: Tunnel, budget: IdleBudget, via: Visitor['via'], proto: 'http' | 'https') {
    this.#tunnel = tunnel
    // With the PROXY protocol a connection announces one visitor, so it cannot serve another.
    this.pool = new UpstreamPool(core, { via, proto, budget, shared: tunnel.options.proxyProto === 0 })
  }

  get name(): string {
    return this.#tunnel.forwardsTo
  }

  get forwardsProto(): string {
    return this.#tunnel.forwardsProto
  }

  open(visitor: Visitor): ByteStream {
    return this.#tunnel.open(visitor)
  }
}

/** Compiles the endpoints of agents, each once, for as long as its tunnel is online. */
export class Endpoints {
  readonly #core: Core
  readonly #http = new WeakMap<Tunnel, HttpEntry>()
  readonly #budgets = new WeakRefMap()

  constructor(core: Core) {
    this.#core = core
  }

  http(tunnel: Tunnel): HttpEntry {
    const known = this.#http.get(tunnel)
    if (known !== undefined) return known
    const entry = this.#compileHttp(tunnel)
    this.#http.set(tunnel, entry)
    return entry
  }

  /** The idle connections of an agent session are counted together. */
  budget(sessionId: string): IdleBudget {
    return this.#budgets.get(sessionId)
  }

  #compileHttp(tunnel: Tunnel): HttpEntry {
    const proto = tunnel.proto === 'https' ? 'https' : 'http'
    const target = new TunnelTarget(this.#core, tunnel, this.budget(tunnel.sessionId), 'endpoint', proto)
    const route: Route = {
      id: tunnel.id,
      admission: endpointAdmission(tunnel.options),
      steps: endpointSteps(tunnel.options),
      backend: (_exchange, attempt) => (attempt === 0 ? target : undefined),
      counters: newCounters(),
    }
    return {
      kind: 'http',
      id: tunnel.id,
      accountId: tunnel.accountId,
      policy: undefined,
      redirectToHttps: false,
      routeFor: () => route,
    }
  }
}

/** Budgets by session, gone with the last tunnel that holds one. */
class WeakRefMap {
  readonly #refs = new Map<string, WeakRef<IdleBudget>>()
  readonly #gone = new FinalizationRegistry<string>((id) => {
    if (this.#refs.get(id)?.deref() === undefined) this.#refs.delete(id)
  })

  get(id: string): IdleBudget {
    const known = this.#refs.get(id)?.deref()
    if (known !== undefined) return known
    const budget: IdleBudget = { idle: 0 }
    this.#refs.set(id, new WeakRef(budget))
    this.#gone.register(budget, id)
    return budget
  }
}

/** Who may reach an agent's endpoint, from the options the agent gave. */
export function endpointAdmission({ ipRestriction }: EndpointOptions): readonly ConnectionStep[] | undefined {
  if (ipRestriction === undefined) return undefined
  const admits = compileRules([
    // Without an allow list an agent means: everyone but these.
    ...(ipRestriction.allow.length > 0 ? ipRestriction.allow : ['0.0.0.0/0', '::/0']).map((cidr) => ({
      cidr,
      action: 'allow' as const,
    })),
    ...ipRestriction.deny.map((cidr) => ({ cidr, action: 'deny' as const })),
  ])
  return [
    ({ remoteAddress }) => {
      if (!admits(remoteAddress)) throw refusal('address_denied', remoteAddress)
    },
  ]
}

/** What happens to requests on the way in, from the options the agent gave. An option we cannot obey denies all (P36). */
function endpointSteps(options: EndpointOptions): readonly RequestStep[] | undefined {
  const unmet = (Object.keys(options) as (keyof EndpointOptions)[]).find(
    (key) => !OBEYED.has(key) && options[key] !== undefined && options[key] !== false,
  )
  if (unmet === undefined) return undefined
  return [
    () => {
      throw refusal('module_broken', unmet)
    },
  ]
}

const OBEYED: ReadonlySet<keyof EndpointOptions> = new Set([
  'ipRestriction',
  'proxyProto',
  'tlsTermination',
  'mutualTls',
])
