import type { FastifyRequest } from 'fastify'
import type { AuditEntry } from '../store/index.ts'

/** The audit record of a call of the dashboard's own routes. */
export function auditRecord(
  request: FastifyRequest,
  entry: Pick<AuditEntry, 'account' | 'principal' | 'credential' | 'action' | 'object'> & {
    /** Why the call was rejected; absent for a successful one. */
    readonly refused?: string
  },
): AuditEntry {
  const { refused, ...rest } = entry
  return {
    ...rest,
    source: request.ip,
    requestId: request.id,
    kind: 'dashboard',
    outcome: refused === undefined ? 'done' : 'refused',
    detail: refused ?? 'dashboard',
  }
}
