import type { KubernetesOperator } from '../../resources/index.ts'
import type { CompiledEndpoints } from '../compile/endpoints.ts'
import type { UpstreamTarget } from '../contracts/backend.ts'
import type { ClusterService } from '../contracts/connection.ts'
import type { ClusterServiceLookup } from '../contracts/runtime.ts'
import type { OwnedRecord, Snapshot } from '../contracts/snapshot.ts'
import type { HttpHost, TcpHost } from '../contracts/table.ts'
import type { Tunnel, TunnelLookup } from '../contracts/tunnels.ts'

/** Compiles the selectors of an operator: whether one of them is true for the endpoint of a tunnel. */
export type CompileSelectors = (selectors: readonly string[]) => SelectsTunnel

type SelectsTunnel = (tunnel: Tunnel) => boolean
type Operator = OwnedRecord<typeof KubernetesOperator>

/** The feature that an operator has enabled while its cluster may connect to endpoints. */
const FEATURE = 'bindings'

/** What the services are looked up in. */
export interface ClusterServiceDependencies {
  readonly snapshot: Snapshot
  readonly tunnels: Pick<TunnelLookup, 'atBound' | 'poolOf'>
  readonly endpoints: CompiledEndpoints
  readonly compileSelectors: CompileSelectors
}

/** The services that Kubernetes operators offer in their clusters: endpoints of their accounts that they select. */
export class ClusterServices implements ClusterServiceLookup {
  readonly #dependencies: ClusterServiceDependencies
  /** By record, which a change of the operator replaces. */
  readonly #selectors = new WeakMap<Operator, SelectsTunnel>()

  constructor(dependencies: ClusterServiceDependencies) {
    this.#dependencies = dependencies
  }

  /** The operator whose current certificate has this fingerprint, and until when that is valid. */
  operatorWith(fingerprint: string): { readonly id: string; readonly notAfter: number } | undefined {
    const operator = this.#dependencies.snapshot.operatorWith(fingerprint)
    const notAfter = operator?.binding?.cert?.not_after
    return operator === undefined || notAfter === undefined || !isEnabled(operator)
      ? undefined
      : { id: operator.id, notAfter: Date.parse(notAfter) }
  }

  current(service: ClusterService): HttpHost | TcpHost | undefined {
    return this.#select(service, 'current')
  }

  next(service: ClusterService): HttpHost | TcpHost | undefined {
    return this.#select(service, 'next')
  }

  #select(
    { operatorId, proto, host, port }: ClusterService,
    which: 'current' | 'next',
  ): HttpHost | TcpHost | undefined {
    const operator = this.#dependencies.snapshot.operators.get(operatorId)
    if (operator === undefined || !isEnabled(operator)) return undefined
    const { tunnels, endpoints } = this.#dependencies
    const bound = tunnels.atBound(operator.accountId, { proto, host, port })
    if (bound === undefined) return undefined
    const next = () => (which === 'next' ? bound.next() : bound.current)
    let tunnel = next()
    const pool = tunnels.poolOf(tunnel)
    const selects = this.#selectorsOf(operator)
    const selected = pool.filter(selects)
    if (selected.length === 0) return undefined
    // Members that are not selected are skipped.
    for (let left = pool.length; left > 0 && !selected.includes(tunnel); left--) tunnel = next()
    const chosen = selected.includes(tunnel) ? tunnel : selected[0]!
    const compiled = proto === 'http' ? endpoints.http(chosen) : endpoints.tcp(chosen)
    return withoutTargets(compiled, () =>
      tunnels
        .poolOf(chosen)
        .filter((member) => !selects(member))
        .map((member) => endpoints.target(member)),
    )
  }

  #selectorsOf(operator: Operator): SelectsTunnel {
    const existing = this.#selectors.get(operator)
    if (existing !== undefined) return existing
    const selects = this.#dependencies.compileSelectors(operator.binding?.endpoint_selectors ?? [])
    this.#selectors.set(operator, selects)
    return selects
  }
}

const isEnabled = ({ enabled_features }: Operator) => enabled_features.includes(FEATURE)

/** The same host, whose requests and connections never move on to these members of its pool. */
function withoutTargets<E extends HttpHost | TcpHost>(host: E, excluded: () => readonly UpstreamTarget[]): E {
  // The first target is the host's own. Read for each retry, since the pool may have changed.
  const extend = (failed: readonly UpstreamTarget[]) =>
    failed.length === 0 ? failed : [...failed, ...excluded()]
  if (host.kind === 'tcp') return { ...host, backend: (failed) => host.backend(extend(failed)) }
  return {
    ...host,
    routeFor(target) {
      const route = host.routeFor(target)
      return { ...route, backend: (exchange, failed) => route.backend(exchange, extend(failed)) }
    },
  }
}
