import { formatTimestamp } from '../../../base/values/clock.ts'
import { KubernetesOperator, type StoredRecord } from '../../../resources/index.ts'
import type { WriteContext } from '../../call.ts'
import { changeTime } from '../../crud/change-time.ts'
import { crud, find, list } from '../../crud/crud.ts'
import { type ApiOperation, operation } from '../../crud/operations.ts'
import { fieldProblem } from '../../problems.ts'
import { endpoints } from './cloud-endpoints.ts'
import { compileSelector, compileSelectors } from './endpoint-selectors.ts'
import { boundEndpointsRoute } from './kubernetes-operator-routes.ts'

type Binding = StoredRecord<typeof KubernetesOperator>['binding']

export const kubernetesOperators = crud(KubernetesOperator, {
  async prepare(record, context) {
    for (const [index, selector] of (record.binding?.endpoint_selectors ?? []).entries()) {
      const condition = compileSelector(selector)
      const field = `binding.endpoint_selectors[${index}]`
      if ('error' in condition) throw fieldProblem(field, 'invalid_field', `${field}: ${condition.error}`)
    }
    const binding = await withCertificate(record.binding, context)
    const updated_at = changeTime(context)
    if (updated_at === undefined) return { record: { ...record, binding } }
    const principal_id = context.existing === undefined ? context.principal.ownerId : record.principal_id
    return { record: { ...record, binding, updated_at, principal_id } }
  },

  async view(_row, { binding }, { config }) {
    return {
      binding: binding && {
        ...binding,
        // Absent in rows of a release without certificates.
        cert: binding.cert ?? null,
        ingress_endpoint: config.bindingIngress() ?? '',
      },
    }
  },
})

/**
 * The binding with the certificate for its `csr`: the stored one for as long as the request stays the same and it is valid.
 * Operators send the request with every update, and store the certificate whenever it is another one.
 */
async function withCertificate(
  binding: Binding,
  { id, existing, dependencies, clock }: WriteContext<typeof KubernetesOperator.kind>,
): Promise<Binding> {
  if (binding === null) return null
  const { csr } = binding
  if (csr === '') return { ...binding, cert: null }
  const { csr: storedCsr, cert: stored } = existing?.data.binding ?? {}
  if (csr === storedCsr && stored && clock.now() < Date.parse(stored.not_after))
    return { ...binding, cert: stored }
  const { certificatePem, notBefore, notAfter } = await dependencies.operatorAuthority.issue(csr, id)
  return {
    ...binding,
    cert: {
      cert: certificatePem,
      not_before: formatTimestamp(notBefore.getTime()),
      not_after: formatTimestamp(notAfter.getTime()),
    },
  }
}

/** Operators poll it. */
export const boundEndpointsOperation: ApiOperation = operation(
  boundEndpointsRoute,
  async (call, { params, page }) => {
    const { id, data } = await find(KubernetesOperator, call, params.id, {})
    const selects = compileSelectors(data.binding?.endpoint_selectors ?? [])
    return list(endpoints, call, page, {
      path: `${KubernetesOperator.path}/${id}/bound_endpoints`,
      includes: (endpoint) => (endpoint.bindings as string[])[0] === 'kubernetes' && selects(endpoint),
    })
  },
)
