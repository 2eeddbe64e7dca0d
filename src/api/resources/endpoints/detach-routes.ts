import { AgentIngress, ReservedAddr, ReservedDomain, type Resource } from '../../../resources/index.ts'
import { type ApiRoute, type ItemPath, withArticle } from '../../routes.ts'

function detachRoute(
  { kind, path, name, roles }: Pick<Resource, 'kind' | 'path' | 'name' | 'roles'>,
  part: string,
): ApiRoute<ItemPath> {
  return {
    id: `${kind}.${part}.delete`,
    summary: `Detach the ${part} of ${withArticle(name)}`,
    tag: kind,
    method: 'DELETE',
    path: `${path}/{id}/${part}`,
    status: 204,
    requires: roles.change,
  }
}

export const detachRoutes = {
  certificate: detachRoute(ReservedDomain, 'certificate'),
  policy: detachRoute(ReservedDomain, 'certificate_management_policy'),
  http: detachRoute(ReservedDomain, 'http_endpoint_configuration'),
  https: detachRoute(ReservedDomain, 'https_endpoint_configuration'),
  address: detachRoute(ReservedAddr, 'endpoint_configuration'),
  ingressPolicy: detachRoute(AgentIngress, 'certificate_management_policy'),
}
