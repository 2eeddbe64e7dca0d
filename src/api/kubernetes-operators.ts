import { Endpoint, KubernetesOperator } from '../resources/index.ts'
import { changeTime } from './change-time.ts'
import { endpoints } from './cloud-endpoints.ts'
import { crud, find, list } from './crud.ts'
import { boundEndpointsRoute } from './kubernetes-operator-routes.ts'
import { compileItemCondition } from './list-filter.ts'
import { fieldNames } from './list-page.ts'
import { type ApiOperation, operation } from './operations.ts'
import { fieldProblem } from './problems.ts'

export const kubernetesOperators = crud(KubernetesOperator, {
  async prepare(record, context) {
    for (const [index, selector] of (record.binding?.endpoint_selectors ?? []).entries()) {
      const condition = compileSelector(selector)
      const field = `binding.endpoint_selectors[${index}]`
      if ('error' in condition) throw fieldProblem(field, 'invalid_field', `${field}: ${condition.error}`)
    }
    const updated_at = changeTime(context)
    if (updated_at === undefined) return { record }
    const principal_id = context.existing === undefined ? context.principal.ownerId : record.principal_id
    return { record: { ...record, updated_at, principal_id } }
  },
})

/** Operators poll it. */
export const boundEndpointsOperation: ApiOperation = operation(
  boundEndpointsRoute,
  async (call, { params, page }) => {
    const { id, data } = await find(KubernetesOperator, call, params.id, {})
    const selects = (data.binding?.endpoint_selectors ?? []).flatMap((selector) => {
      const condition = compileSelector(selector)
      return 'error' in condition ? [] : [condition.matches]
    })
    return list(endpoints, call, page, {
      path: `${KubernetesOperator.path}/${id}/bound_endpoints`,
      includes: (endpoint) =>
        (endpoint.bindings as string[])[0] === 'kubernetes' && selects.some((matches) => matches(endpoint)),
    })
  },
)

const compileSelector = (selector: string) =>
  compileItemCondition(selector, {
    name: 'endpoint',
    listKey: Endpoint.listKey,
    fieldNames: fieldNames(Endpoint.viewSchema),
  })
