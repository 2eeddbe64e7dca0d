import { Type } from 'typebox'
import { ApiKey } from '../../resources/index.ts'
import type { ApiRoute } from '../routes.ts'

const root = Type.Object({
  uri: Type.String({ description: 'The address of the API.' }),
  subresource_uris: Type.Record(Type.String(), Type.String(), {
    description: 'The address of every list by its name.',
  }),
})

const account = Type.Object({
  id: Type.String({ description: 'The unique ID.' }),
  name: Type.String({ description: 'The name of the account.' }),
  created_at: Type.String({ description: 'When it was created, in RFC 3339 format.' }),
  suspended: Type.Boolean({ description: 'Always false.' }),
  enforce_sso: Type.Boolean({ description: 'Always false.' }),
  min_api_version: Type.Integer({ description: 'The oldest version of the API that is served.' }),
  min_agent_version: Type.String({ description: 'Always empty: agents of every version may connect.' }),
  user_mfa_required: Type.Boolean({ description: 'Always false.' }),
  traffic_full_capture: Type.Boolean({ description: 'Always false.' }),
})

const self = Type.Object({
  api_key: Type.Union([ApiKey.viewSchema, Type.Null()], {
    description: 'The API key of the call; null for a call of the dashboard.',
  }),
  account: { ...account, description: 'The account that the call acts on.' },
  user: Type.String({ description: 'The ID of the user or bot user for whom the call acts.' }),
})

const common = { tag: 'root', method: 'GET', status: 200, requires: { role: 'read_only' } } as const

/** What the API holds, and who is calling it. */
export const rootRoutes = {
  get: { ...common, id: 'root.get', summary: 'List the addresses of all lists', path: '/', response: root },
  self: {
    ...common,
    id: 'root.self',
    summary: 'Get the API key, the account and the user of the call',
    path: '/self',
    response: self,
  },
} satisfies Record<string, ApiRoute>
