import { formatTimestamp } from '../base/clock.ts'
import { auditRoutes } from './audit-routes.ts'
import { toListResponse } from './crud.ts'
import type { ApiOperation } from './operations.ts'
import { requirePrefix } from './paging.ts'

/** The audit log: one record per mutating call, hash-chained so that tampering is detectable. Administrators only. */
export const auditOperations: ApiOperation[] = [
  {
    ...auditRoutes.list,
    async run(call, { page }) {
      requirePrefix(page, 'ae')
      const records = await call.store.auditLog(call.principal.accountId, {
        limit: page.limit + 1,
        before: page.beforeId,
      })
      const items = records.map((entry) => ({
        id: entry.id,
        at: formatTimestamp(entry.at),
        principal: entry.principal ?? null,
        credential: entry.credential ?? null,
        source: entry.source ?? null,
        operation_id: entry.requestId,
        action: entry.action,
        kind: entry.kind,
        object: entry.object ?? null,
        outcome: entry.outcome,
        detail: entry.detail ?? null,
        hash: entry.hash,
      }))
      return toListResponse('audit_events', `${call.config.apiUrl()}/audit_events`, page, items)
    },
  },
]
