import type { FastifyRequest } from 'fastify'
import type { AuditEntry } from '../store/index.ts'

/** The audit record of something done through the dashboard's own routes. */
export function auditRecord(
  request: FastifyRequest,
  entry: Pick<AuditEntry, 'account' | 'principal' | 'credential' | 'action' | 'object'> & {
    /** Why it was refused; done otherwise. */
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
