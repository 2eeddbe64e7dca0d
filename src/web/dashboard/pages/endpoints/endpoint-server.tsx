import type { Endpoint } from '../../../../api-client/index.ts'
import { hrefTo } from '../../route.ts'

/** The edge, cloud endpoint or agent that serves an endpoint. */
export function EndpointServer({ endpoint }: { endpoint: Endpoint }) {
  const { id, type, edge, tunnel_session, upstream_url, name, description } = endpoint
  if (edge !== null) return <a href={hrefTo(`/edges/${edge.id}`)}>{description || 'Edge'}</a>
  if (type === 'cloud') return <a href={hrefTo(`/endpoints/${id}`)}>{description || 'Cloud endpoint'}</a>
  return (
    <>
      {tunnel_session && <a href={hrefTo(`/agents/${tunnel_session.id}`)}>{name || 'Agent'}</a>}{' '}
      {upstream_url && <code>{upstream_url}</code>}
    </>
  )
}
