import { Type } from 'typebox'
import type { ApiRoute } from './routes.ts'

const textOrNull = Type.Union([Type.String(), Type.Null()])

/** What an update changed, or a deletion removed; a secret has no values. */
const fieldChange = Type.Object({
  field: Type.String(),
  old: Type.Optional(Type.Unknown()),
  new: Type.Optional(Type.Unknown()),
  secret: Type.Optional(Type.Boolean()),
})

/** One record of the audit log. */
export const auditRecord = Type.Object({
  id: Type.String(),
  at: Type.String(),
  principal: textOrNull,
  credential: textOrNull,
  source: textOrNull,
  operation_id: Type.String(),
  action: Type.String(),
  kind: Type.String(),
  object: textOrNull,
  outcome: Type.String(),
  detail: textOrNull,
  changes: Type.Union([Type.Array(fieldChange), Type.Null()]),
  hash: Type.String(),
})

export const auditRoutes = {
  list: {
    id: 'audit_events.list',
    summary: 'List the audit log, newest first',
    tag: 'audit_events',
    method: 'GET',
    path: '/audit_events',
    response: Type.Object({
      audit_events: Type.Array(auditRecord),
      uri: Type.String(),
      next_page_uri: textOrNull,
    }),
    status: 200,
    paged: true,
    requires: { role: 'admin' },
  },
} satisfies Record<string, ApiRoute>
