import { listAll } from '../list-all.ts'
import type { Endpoint } from '../resources.ts'

/** All endpoints of the account: those of agents, and every host name and address of its edges. */
export function listEndpoints(signal?: AbortSignal): Promise<Endpoint[]> {
  return listAll<Endpoint>('/endpoints', 'endpoints', signal)
}
