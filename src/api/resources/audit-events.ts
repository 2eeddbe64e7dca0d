import { formatTimestamp } from '../../base/values/clock.ts'
import { listPage } from '../crud/list-page.ts'
import { type ApiOperation, operation } from '../crud/operations.ts'
import { auditRecord, auditRoutes } from './audit-routes.ts'

const AUDIT_EVENTS = { listKey: 'audit_events', path: auditRoutes.list.path, itemSchema: auditRecord }

/** The audit log: one record per mutating call, hash-chained so that tampering is detectable. Administrators only. */
export const auditOperations: ApiOperation[] = [
  operation(auditRoutes.list, (call, { page }) => {
    return listPage(AUDIT_EVENTS, call, page, async (before, limit) => {
      const records = await call.store.auditLog(call.principal.accountId, { limit, before })
      return records.map((entry) => ({
        id: entry.id,
        at: formatTimestamp(entry.time),
        principal: entry.principal ?? null,
        credential: entry.credential ?? null,
        source: entry.source ?? null,
        operation_id: entry.requestId,
        action: entry.action,
        kind: entry.kind,
        object: entry.object ?? null,
        outcome: entry.outcome,
        detail: entry.detail ?? null,
        changes: entry.changes ?? null,
        hash: entry.hash,
      }))
    })
  }),
]
