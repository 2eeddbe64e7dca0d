import { Type } from 'typebox'
import { listSchema } from '../../resources/index.ts'
import type { ApiRoute } from '../routes.ts'

const textOrNull = (options: { description: string }) => Type.Union([Type.String(), Type.Null()], options)

/** What an update changed, or a deletion removed; a secret has no values. */
const fieldChange = Type.Object({
  field: Type.String({ description: 'The name of the field, with dots for nested ones.' }),
  old: Type.Optional(Type.Unknown({ description: 'The value before the call; null if it was unset.' })),
  new: Type.Optional(Type.Unknown({ description: 'The value after the call; null if it is unset.' })),
  secret: Type.Optional(Type.Boolean({ description: 'True for a secret, whose values are never recorded.' })),
})

/** One record of the audit log. */
export const auditRecord = Type.Object({
  id: Type.String({ description: 'The unique ID.' }),
  at: Type.String({ description: 'When it happened, in RFC 3339 format.' }),
  principal: textOrNull({ description: 'The user or bot user who made the call.' }),
  credential: textOrNull({ description: 'The API key or dashboard session of the call.' }),
  source: textOrNull({ description: 'The IP address of the call.' }),
  operation_id: Type.String({
    description: 'The ID of the call, which is also in its response headers and in the log of the server.',
  }),
  action: Type.String({ description: 'What was done.' }),
  kind: Type.String({ description: 'The kind of object.' }),
  object: textOrNull({ description: 'The ID of the object.' }),
  outcome: Type.String({ description: 'Whether the call succeeded.' }),
  detail: textOrNull({ description: 'Further details.' }),
  changes: Type.Union([Type.Array(fieldChange), Type.Null()], {
    description: 'The fields that the call changed or, for a deletion, removed.',
  }),
  hash: Type.String({
    description: 'The hash of this record and the previous one, which makes changes to the log detectable.',
  }),
})

export const auditRoutes = {
  list: {
    id: 'audit_events.list',
    summary: 'List the audit log, newest first',
    tag: 'audit_events',
    method: 'GET',
    path: '/audit_events',
    response: listSchema('audit_events', auditRecord),
    status: 200,
    paged: 'ae',
    requires: { role: 'admin' },
  },
} satisfies Record<string, ApiRoute>
