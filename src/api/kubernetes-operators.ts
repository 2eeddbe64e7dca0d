import { Endpoint, KubernetesOperator } from '../resources/index.ts'
import { changeTime } from './change-time.ts'
import { crud, find } from './crud.ts'
import { boundEndpointsRoute } from './kubernetes-operator-routes.ts'
import { listPage } from './list-page.ts'
import { type ApiOperation, operation } from './operations.ts'
import { requirePrefix } from './paging.ts'

export const kubernetesOperators = crud(KubernetesOperator, {
  async prepare(record, context) {
    const updated_at = changeTime(context)
    if (updated_at === undefined) return { record }
    const principal_id = context.existing === undefined ? context.principal.ownerId : record.principal_id
    return { record: { ...record, updated_at, principal_id } }
  },
})

export const boundEndpointsOperation: ApiOperation = operation(
  boundEndpointsRoute,
  async (call, { params, page }) => {
    const { id } = await find(KubernetesOperator, call, params.id, {})
    requirePrefix(page, Endpoint.prefix)
    const description = {
      listKey: Endpoint.listKey,
      path: `${KubernetesOperator.path}/${id}/bound_endpoints`,
      itemSchema: Endpoint.viewSchema,
    }
    // Operators poll it. No endpoint has the binding of a cluster.
    return listPage(description, call, page, async () => [])
  },
)
