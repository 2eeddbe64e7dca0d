import { Type } from 'typebox'
import type { ApiRoute } from '../routes.ts'
import { documentProperties } from './document.ts'

const text = (options: { description: string }) => Type.String(options)
const optionalText = (options: { description: string }) => Type.Union([Type.String(), Type.Null()], options)
const flag = (options: { description: string }) => Type.Optional(Type.Boolean({ default: false, ...options }))
const count = (options: { description: string }) => Type.Integer({ minimum: 0, ...options })

const fieldChange = Type.Object({
  field: text({ description: 'The path of the field.' }),
  old: Type.Unknown({ description: 'The value in the account; null if it is unset or secret.' }),
  new: Type.Unknown({ description: 'The value in the document; null if it is unset or secret.' }),
  secret: Type.Boolean({ description: 'Whether the field is a secret, whose values are not shown.' }),
})

const rejection = Type.Object({
  error_code: text({ description: 'The error code.' }),
  msg: text({ description: 'The cause in one sentence.' }),
  field: optionalText({ description: 'The field that is invalid; null if none is.' }),
})

const change = Type.Object(
  {
    action: Type.Enum(['create', 'update', 'delete'], { description: 'What happens to the resource.' }),
    status: Type.Enum(['planned', 'done', 'failed'], {
      description: 'Whether the change is planned, done, or was rejected.',
    }),
    kind: text({ description: 'The kind of the resource.' }),
    name: text({ description: 'The name of the resource in the document.' }),
    id: optionalText({ description: 'The ID of the resource; null before it is created.' }),
    fields: Type.Array(fieldChange, { description: 'The fields that differ.' }),
    shown_once: Type.Object(
      {},
      {
        additionalProperties: Type.String(),
        description: 'The tokens of a new credential, which no later response contains.',
      },
    ),
    error: Type.Union([rejection, Type.Null()], {
      description: 'Why the change was rejected; null if it was not.',
    }),
  },
  { title: 'AccountChange' },
)

/** Account as code: the document of a whole account. Each change also requires the role of its own operation. */
export const accountRoutes = {
  apply: {
    id: 'account.apply',
    summary: 'Make the account match a document',
    tag: 'account',
    method: 'POST',
    path: '/apply',
    body: Type.Object(
      {
        dry_run: flag({ description: 'Whether to return the plan and change nothing.' }),
        prune: flag({
          description: 'Whether to delete resources that an earlier document had and this one does not.',
        }),
        ...Object.fromEntries(
          Object.entries(documentProperties()).map(([kind, schema]) => [kind, Type.Optional(schema)]),
        ),
      },
      { additionalProperties: false, title: 'AccountDocument' },
    ),
    response: Type.Object(
      {
        dry_run: Type.Boolean({ description: 'Whether this is a plan: nothing was changed.' }),
        created: count({ description: 'How many resources were created, or would be.' }),
        updated: count({ description: 'How many resources were updated, or would be.' }),
        deleted: count({ description: 'How many resources were deleted, or would be.' }),
        unchanged: count({ description: 'How many resources already match the document.' }),
        failed: count({ description: 'How many changes were rejected.' }),
        changes: Type.Array(change, { description: 'Every change, in the order in which they are made.' }),
      },
      { title: 'AccountReport' },
    ),
    status: 200,
    requires: { role: 'developer' },
  },
  export: {
    id: 'account.export',
    summary: 'Export the account as a document',
    tag: 'account',
    method: 'GET',
    path: '/export',
    response: Type.Object(
      {
        document: Type.Object(
          {},
          {
            additionalProperties: true,
            description: 'The document of the account, as POST /apply accepts it.',
          },
        ),
        omitted_secrets: Type.Array(Type.String(), {
          description: 'The paths of the secrets that the document leaves out.',
        }),
      },
      { title: 'AccountExport' },
    ),
    status: 200,
    requires: { role: 'read_only' },
  },
} satisfies Record<string, ApiRoute>
