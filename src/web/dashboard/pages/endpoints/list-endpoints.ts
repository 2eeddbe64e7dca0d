import { listAll } from '../list-all.ts'
import type { Endpoint } from '../resources.ts'

/** Where the account answers: the endpoints of agents, and every name and address of its edges. */
export function listEndpoints(signal?: AbortSignal): Promise<Endpoint[]> {
  return listAll<Endpoint>('/endpoints', 'endpoints', signal)
}
