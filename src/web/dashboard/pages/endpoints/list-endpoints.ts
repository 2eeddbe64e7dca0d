import { api } from '../../api.ts'
import { hostOf, listEdges } from '../edges/edges.ts'
import { listAll } from '../list-all.ts'
import { httpsUrlOf, type Platform } from '../platform.ts'
import type { Endpoint } from '../resources.ts'

/** Where the account answers: the endpoints of agents, and every name and address of its edges. */
export async function listEndpoints(signal?: AbortSignal): Promise<Endpoint[]> {
  const [endpoints, edges, platform] = await Promise.all([
    listAll<Endpoint>('/endpoints', 'endpoints', signal),
    listEdges(signal),
    api.get<Platform>('/dashboard/api/platform', signal),
  ])
  const listed = new Set(endpoints.map(({ edge }) => edge?.id))
  const ofEdges = edges
    .filter(({ id }) => !listed.has(id))
    .flatMap(({ id, kind, hostports, description, created_at }) =>
      hostports.map((hostport): Endpoint => {
        const url = httpsUrlOf(hostOf(hostport), platform)
        return {
          id: `${id} ${hostport}`,
          created_at,
          type: 'edge',
          proto: kind,
          hostport,
          public_url:
            kind === 'tcp' ? `tcp://${hostport}` : kind === 'tls' ? url.replace('https', 'tls') : url,
          name: '',
          description,
          domain: null,
          tcp_addr: null,
          tunnel: null,
          tunnel_session: null,
          edge: { id, uri: '' },
          upstream_url: '',
        }
      }),
    )
  return [...endpoints, ...ofEdges]
}
