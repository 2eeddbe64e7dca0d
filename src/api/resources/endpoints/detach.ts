import { type ResourceHooks, rewrite } from '../../crud/crud.ts'
import { type ApiOperation, operation } from '../../crud/operations.ts'
import { problem } from '../../problems.ts'
import type { ApiRoute, ItemPath } from '../../routes.ts'
import { agentIngresses } from './agent-ingresses.ts'
import { detachRoutes } from './detach-routes.ts'
import { reservedAddrs, reservedDomains } from './reserved-names.ts'

/** `DELETE …/{id}/<part>`: sets one reference or policy of a name to null. */
function detachOperation(
  route: ApiRoute<ItemPath>,
  hooks: ResourceHooks,
  key: string,
  conflictReason?: (record: Record<string, unknown>) => string | undefined,
): ApiOperation {
  return operation(route, async (call, { params }) => {
    await rewrite(hooks, call, params.id, params, (record) => {
      const reason = conflictReason?.(record)
      if (reason !== undefined) throw problem('conflict', reason)
      return { ...record, [key]: null }
    })
    return undefined
  })
}

export const detachOperations: ApiOperation[] = [
  detachOperation(detachRoutes.certificate, reservedDomains, 'certificate_id', (record) =>
    record.certificate_management_policy === null
      ? undefined
      : 'The certificate of this domain is managed automatically; detach its certificate_management_policy instead.',
  ),
  detachOperation(detachRoutes.policy, reservedDomains, 'certificate_management_policy'),
  detachOperation(detachRoutes.http, reservedDomains, 'http_endpoint_configuration_id'),
  detachOperation(detachRoutes.https, reservedDomains, 'https_endpoint_configuration_id'),
  detachOperation(detachRoutes.address, reservedAddrs, 'endpoint_configuration_id'),
  detachOperation(detachRoutes.ingressPolicy, agentIngresses, 'certificate_management_policy'),
]
