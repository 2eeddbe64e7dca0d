import { Endpoint, KubernetesOperator } from '../../../resources/index.ts'
import type { ApiRoute, ItemPath } from '../../routes.ts'

/** Lists the endpoints that are bound to the cluster of an operator. */
export const boundEndpointsRoute: ApiRoute<ItemPath> = {
  id: `${KubernetesOperator.tag}.bound_endpoints.list`,
  summary: 'List the endpoints that are bound to the cluster of a Kubernetes operator',
  tag: KubernetesOperator.tag,
  method: 'GET',
  path: `${KubernetesOperator.path}/{id}/bound_endpoints`,
  response: Endpoint.listSchema,
  status: 200,
  paged: Endpoint.prefix,
  requires: KubernetesOperator.roles.read,
}
