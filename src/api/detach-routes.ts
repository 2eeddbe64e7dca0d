import { AgentIngress, ReservedAddr, ReservedDomain } from '../resources/index.ts'
import { article, type Route } from './routes.ts'

function detach({ kind, path, name }: { kind: string; path: string; name: string }, part: string): Route {
  return {
    id: `${kind}.${part}.delete`,
    summary: `Detach the ${part} of ${article(name)}`,
    tag: kind,
    method: 'DELETE',
    path: `${path}/{id}/${part}`,
    status: 204,
  }
}

export const detachRoutes = {
  certificate: detach(ReservedDomain, 'certificate'),
  policy: detach(ReservedDomain, 'certificate_management_policy'),
  http: detach(ReservedDomain, 'http_endpoint_configuration'),
  https: detach(ReservedDomain, 'https_endpoint_configuration'),
  address: detach(ReservedAddr, 'endpoint_configuration'),
  ingressPolicy: detach(AgentIngress, 'certificate_management_policy'),
}
