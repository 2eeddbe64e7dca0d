import { compileRules } from '../base/ip-rules.ts'
import type { Core } from './core.ts'
import type { ConnectionStep, RequestStep } from './module.ts'
import { refusal } from './refusals.ts'
import { type HttpEntry, newCounters, type RawEntry, type Route } from './table.ts'
import type { TlsPolicies, TlsPolicy } from './tls-policy.ts'
import { type IdleBudgets, TunnelTarget } from './tunnel-target.ts'
import type { EndpointOptions, Tunnel } from './tunnels.ts'

/** Compiles the endpoints of agents, each once, for as long as its tunnel is online. */
export class Endpoints {
  readonly #core: Core
  readonly #budgets: IdleBudgets
  readonly #policies: TlsPolicies
  readonly #http = new WeakMap<Tunnel, HttpEntry>()
  readonly #raw = new WeakMap<Tunnel, RawEntry>()
  readonly #redirects = new WeakMap<Tunnel, HttpEntry>()

  constructor(core: Core, budgets: IdleBudgets, policies: TlsPolicies) {
    this.#core = core
    this.#budgets = budgets
    this.#policies = policies
  }

  /** The endpoint of an http or https tunnel. */
  http(tunnel: Tunnel): HttpEntry {
    const known = this.#http.get(tunnel)
    if (known !== undefined) return known
    const entry = this.#compileHttp(tunnel)
    this.#http.set(tunnel, entry)
    return entry
  }

  /** What plain HTTP gets where only https is served. */
  redirect(tunnel: Tunnel): HttpEntry {
    const known = this.#redirects.get(tunnel)
    if (known !== undefined) return known
    const entry = { ...this.http(tunnel), policy: undefined, redirectToHttps: true }
    this.#redirects.set(tunnel, entry)
    return entry
  }

  /** The endpoint of a tcp or tls tunnel. */
  raw(tunnel: Tunnel): RawEntry {
    const known = this.#raw.get(tunnel)
    if (known !== undefined) return known
    const entry = this.#compileRaw(tunnel)
    this.#raw.set(tunnel, entry)
    return entry
  }

  #compileHttp(tunnel: Tunnel): HttpEntry {
    const { id, accountId, options } = tunnel
    const proto = tunnel.proto === 'https' ? 'https' : 'http'
    const target = new TunnelTarget(this.#core, tunnel, this.#budgets.of(tunnel.sessionId), 'endpoint', proto)
    const route: Route = {
      id,
      admission: endpointAdmission(options),
      steps: endpointSteps(options),
      backend: (_exchange, attempt) => (attempt === 0 ? target : undefined),
      counters: newCounters(),
    }
    return {
      kind: 'http',
      id,
      accountId,
      policy: proto === 'https' ? this.#policy(options, true) : undefined,
      redirectToHttps: false,
      routeFor: () => route,
    }
  }

  #compileRaw(tunnel: Tunnel): RawEntry {
    const { id, accountId, options } = tunnel
    const terminated = tunnel.proto === 'tls' && options.tlsTermination !== undefined
    const target = new TunnelTarget(
      this.#core,
      tunnel,
      this.#budgets.of(tunnel.sessionId),
      'endpoint',
      'http',
    )
    return {
      kind: 'raw',
      id,
      accountId,
      via: 'endpoint',
      policy: terminated ? this.#policy(options, false) : undefined,
      // A certificate can only be asked for where TLS ends here: the option cannot be obeyed otherwise (P36).
      admission:
        options.mutualTls !== undefined && !terminated
          ? [() => denyAll('mutual TLS')]
          : endpointAdmission(options),
      backend: (tried) => (tried.length === 0 ? target : undefined),
      counters: newCounters(),
    }
  }

  #policy({ mutualTls, tlsTermination }: EndpointOptions, http: boolean): TlsPolicy {
    const { certPem, keyPem } = tlsTermination ?? {}
    return this.#policies.get({
      http,
      ...(mutualTls === undefined ? {} : { clientAuthorities: [mutualTls.caPem] }),
      ...(certPem !== undefined && keyPem !== undefined
        ? { certificate: { certificatePem: certPem, privateKeyPem: keyPem } }
        : {}),
    })
  }
}

function denyAll(module: string): never {
  throw refusal('module_broken', module)
}

/** Who may reach an agent's endpoint, from the options the agent gave. */
export function endpointAdmission({ ipRestriction }: EndpointOptions): readonly ConnectionStep[] | undefined {
  if (ipRestriction === undefined) return undefined
  const { allow, deny } = ipRestriction
  const admits = compileRules([
    // Without an allow list an agent means: everyone but these.
    ...(allow.length > 0 ? allow : ['0.0.0.0/0', '::/0']).map((cidr) => ({ cidr, action: 'allow' as const })),
    ...deny.map((cidr) => ({ cidr, action: 'deny' as const })),
  ])
  return [
    ({ remoteAddress }) => {
      if (!admits(remoteAddress)) throw refusal('address_denied', remoteAddress)
    },
  ]
}

const OBEYED: ReadonlySet<keyof EndpointOptions> = new Set([
  'ipRestriction',
  'proxyProto',
  'tlsTermination',
  'mutualTls',
])

/** What happens to requests on the way in. An option that cannot be obeyed denies all (P36). */
function endpointSteps(options: EndpointOptions): readonly RequestStep[] | undefined {
  const unmet = (Object.keys(options) as (keyof EndpointOptions)[]).find(
    (key) => !OBEYED.has(key) && options[key] !== undefined && options[key] !== false,
  )
  return unmet === undefined ? undefined : [() => denyAll(unmet)]
}
