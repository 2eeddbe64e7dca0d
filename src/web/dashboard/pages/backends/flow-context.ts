import type { LoadState } from '../../kit/index.ts'
import type { FlowContext } from '../edges/request-flow.ts'
import { listAll, useLoad } from '../list-all.ts'
import type { Backend, Tunnel } from '../resources.ts'
import { KIND_ORDER } from './kinds.ts'

/** All backends of the account. */
async function listBackends(signal?: AbortSignal): Promise<Backend[]> {
  const lists = await Promise.all(
    KIND_ORDER.map((kind) => listAll<Backend>(`/backends/${kind}`, 'backends', signal)),
  )
  return lists.flat()
}

/** Backends and online tunnels, reloaded whenever `key` changes. */
export function useFlowContext(key: string): LoadState<FlowContext> {
  return useLoad(
    async (signal) => {
      const [backends, tunnels] = await Promise.all([
        listBackends(signal),
        listAll<Tunnel>('/tunnels', 'tunnels', signal),
      ])
      return {
        backends: new Map(backends.map((backend) => [backend.id, backend])),
        tunnels: new Map(tunnels.map((tunnel) => [tunnel.id, tunnel])),
      }
    },
    { everyMs: 30_000, key },
  )
}
