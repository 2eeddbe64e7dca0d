import { agentIngresses } from './agent-ingresses.ts'
import { type Behaviour, rewrite } from './crud.ts'
import { detachRoutes } from './detach-routes.ts'
import type { Operation } from './operations.ts'
import { problem } from './problems.ts'
import { reservedAddrs, reservedDomains } from './reserved-names.ts'
import type { Route } from './routes.ts'

/** `DELETE …/{id}/<part>`: sets one reference or policy of a name back to null. */
function detach(
  route: Route,
  behaviour: Behaviour,
  key: string,
  refuse?: (record: Record<string, unknown>) => string | undefined,
): Operation {
  return {
    ...route,
    async run(call, { params }) {
      await rewrite(behaviour, call, params.id!, params, (record) => {
        const why = refuse?.(record)
        if (why !== undefined) throw problem('conflict', why)
        return { ...record, [key]: null }
      })
      return undefined
    },
  }
}

export const detachOperations: Operation[] = [
  detach(detachRoutes.certificate, reservedDomains, 'certificate_id', (record) =>
    record.certificate_management_policy === null
      ? undefined
      : 'The certificate of this domain is managed automatically; detach its certificate_management_policy instead.',
  ),
  detach(detachRoutes.policy, reservedDomains, 'certificate_management_policy'),
  detach(detachRoutes.http, reservedDomains, 'http_endpoint_configuration_id'),
  detach(detachRoutes.https, reservedDomains, 'https_endpoint_configuration_id'),
  detach(detachRoutes.address, reservedAddrs, 'endpoint_configuration_id'),
  detach(detachRoutes.ingressPolicy, agentIngresses, 'certificate_management_policy'),
]
