import type { FastifyRequest } from 'fastify'
import type { AuditEntry } from '../store/index.ts'

/** The audit record of a call of the dashboard's own routes. */
export function auditRecord(
  request: FastifyRequest,
  entry: Pick<AuditEntry, 'account' | 'principal' | 'credential' | 'action' | 'object'> & {
    /** Why the call was rejected; absent for a successful one. */
    readonly rejection?: string
  },
): AuditEntry {
  const { rejection, ...rest } = entry
  return {
    ...rest,
    source: request.ip,
    requestId: request.id,
    kind: 'dashboard',
    outcome: rejection === undefined ? 'done' : 'refused',
    detail: rejection ?? 'dashboard',
  }
}
