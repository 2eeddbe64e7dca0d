import { type Behaviour, rewrite } from './crud.ts'
import type { Operation } from './operations.ts'
import { problem } from './problems.ts'
import { reservedAddrs, reservedDomains } from './reserved-names.ts'

/** `DELETE …/{id}/<part>`: sets one reference or policy of a reserved name back to null. */
function detach(
  behaviour: Behaviour,
  part: string,
  key: string,
  refuse?: (record: Record<string, unknown>) => string | undefined,
): Operation {
  const { kind, path, name } = behaviour.resource
  return {
    id: `${kind}.${part}.delete`,
    summary: `Detach the ${part} of a ${name}`,
    tag: kind,
    method: 'DELETE',
    path: `${path}/{id}/${part}`,
    status: 204,
    async run(call, { params }) {
      await rewrite(behaviour, call, params.id!, params, `detach_${part}`, (record) => {
        const why = refuse?.(record)
        if (why !== undefined) throw problem('conflict', why)
        return { ...record, [key]: null }
      })
      return undefined
    },
  }
}

export const detachOperations: Operation[] = [
  detach(reservedDomains, 'certificate', 'certificate_id', (record) =>
    record.certificate_management_policy === null
      ? undefined
      : 'The certificate of this domain is managed automatically; detach its certificate_management_policy instead.',
  ),
  detach(reservedDomains, 'certificate_management_policy', 'certificate_management_policy'),
  detach(reservedDomains, 'http_endpoint_configuration', 'http_endpoint_configuration_id'),
  detach(reservedDomains, 'https_endpoint_configuration', 'https_endpoint_configuration_id'),
  detach(reservedAddrs, 'endpoint_configuration', 'endpoint_configuration_id'),
]
