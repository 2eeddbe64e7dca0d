import { AgentIngress, ReservedAddr, ReservedDomain, type Resource } from '../resources/index.ts'
import { article, type Route } from './routes.ts'

function detach(
  { kind, path, name, roles }: Pick<Resource, 'kind' | 'path' | 'name' | 'roles'>,
  part: string,
): Route {
  return {
    id: `${kind}.${part}.delete`,
    summary: `Detach the ${part} of ${article(name)}`,
    tag: kind,
    method: 'DELETE',
    path: `${path}/{id}/${part}`,
    status: 204,
    requires: roles.change,
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
