import { Type } from 'typebox'
import { timestamp } from '../base/clock.ts'
import { envelope } from './crud.ts'
import type { Operation } from './operations.ts'

const record = Type.Object({
  id: Type.String(),
  at: Type.String(),
  principal: Type.Union([Type.String(), Type.Null()]),
  credential: Type.Union([Type.String(), Type.Null()]),
  source: Type.Union([Type.String(), Type.Null()]),
  operation_id: Type.String(),
  action: Type.String(),
  kind: Type.String(),
  object: Type.Union([Type.String(), Type.Null()]),
  outcome: Type.String(),
  detail: Type.Union([Type.String(), Type.Null()]),
  hash: Type.String(),
})

/** The audit log: one record for each mutating call, chained so that tampering shows. For administrators. */
export const auditOperations: Operation[] = [
  {
    id: 'audit_events.list',
    summary: 'List the audit log, newest first',
    tag: 'audit_events',
    method: 'GET',
    path: '/audit_events',
    answer: Type.Object({
      audit_events: Type.Array(record),
      uri: Type.String(),
      next_page_uri: Type.Union([Type.String(), Type.Null()]),
    }),
    status: 200,
    paged: true,
    adminOnly: true,
    async run(call, { page }) {
      const records = await call.store.auditLog(call.principal.accountId, {
        limit: page.limit + 1,
        before: page.before,
      })
      const items = records.map((entry) => ({
        id: entry.id,
        at: timestamp(entry.at),
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
      return envelope('audit_events', `${call.config.apiUrl()}/audit_events`, page, items)
    },
  },
]
