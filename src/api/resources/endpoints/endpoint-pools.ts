import { claimOf, type Reader } from '../../../store/index.ts'
import type { ApiCall } from '../../call.ts'

/** What decides which pool an endpoint belongs to. */
export interface PoolMember {
  readonly id: string
  readonly url: string
  readonly proto: string
  readonly host: string
  readonly bindings: readonly string[]
  readonly pooling_enabled: boolean
}

const MAX_MEMBERS = 100

/** The cloud endpoints of an account at a URL. */
export function cloudEndpointsAt(url: string, accountId: string, reader: Pick<Reader, 'holdersWithPrefix'>) {
  const { scope, name } = claimOf({ within: 'account', scope: 'endpoint_url', name: `${url} ` }, accountId)
  return reader.holdersWithPrefix(scope, name, MAX_MEMBERS)
}

/** The URL of cloud endpoints in the pool of an endpoint: public URLs of agents may have the port of the listener. */
function poolUrl({ url, proto, host, bindings }: PoolMember): string {
  return bindings[0] !== 'public' || proto === 'tcp' ? url : `${proto}://${host}`
}

/** The ids of pooled endpoints of agents by their pool; read once for each call. */
const agentPools = new WeakMap<ApiCall, Map<string, string[]>>()

function agentsAt(url: string, call: ApiCall): readonly string[] {
  let pools = agentPools.get(call)
  if (pools === undefined) {
    const online = call.dependencies.online.endpoints(call.principal.accountId) as (Record<string, unknown> &
      PoolMember)[]
    const members = Map.groupBy(
      online.filter((endpoint) => endpoint.pooling_enabled),
      poolUrl,
    )
    pools = new Map([...members].map(([key, endpoints]) => [key, endpoints.map(({ id }) => id)]))
    agentPools.set(call, pools)
  }
  return pools.get(url) ?? []
}

/** The other endpoints of an endpoint's pool, of agents and of the cloud, newest first. */
export async function poolOf(endpoint: PoolMember, call: ApiCall): Promise<{ id: string; uri: string }[]> {
  if (!endpoint.pooling_enabled) return []
  const url = poolUrl(endpoint)
  const stored = await cloudEndpointsAt(url, call.principal.accountId, call.store.fallbackReader)
  return [...stored.map(({ id }) => id), ...agentsAt(url, call)]
    .filter((id) => id !== endpoint.id)
    .toSorted((one, other) => (one < other ? 1 : -1))
    .slice(0, MAX_MEMBERS)
    .map((id) => ({ id, uri: call.renderContext.uriOf(id) }))
}
