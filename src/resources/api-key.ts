import { owner, token } from './credential-fields.ts'
import { common, defineResource, fixed, hidden, shownOnce } from './schema/define.ts'
import { text } from './schema/value.ts'

/** A bearer token for this API. */
export const ApiKey = defineResource({
  name: 'API key',
  description: 'Keys with which programs call this API.',
  path: '/api_keys',
  prefix: 'ak',
  listKey: 'keys',
  event: 'api_key',
  roles: { guard: 'owner' },
  fields: {
    ...common,
    token: shownOnce(token),
    owner_id: fixed(owner),
    token_digest: hidden(text(64)),
  },
  unique: ({ token_digest }) => [
    { within: 'platform', scope: 'api_token', name: token_digest, conflict: 'This token is in use.' },
  ],
})
