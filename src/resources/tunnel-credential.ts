import { owner, token } from './credential-fields.ts'
import { common, defineResource, editable, fixed, hidden, shownOnce } from './schema/define.ts'
import { acl } from './schema/formats.ts'
import { text } from './schema/value.ts'

/** An authtoken that lets an agent start tunnels. */
export const TunnelCredential = defineResource({
  name: 'tunnel credential',
  description: 'Authtokens with which agents start tunnels, and the addresses that each of them may bind.',
  path: '/credentials',
  prefix: 'cr',
  listKey: 'credentials',
  event: 'tunnel_credential',
  roles: { guard: 'owner' },
  fields: {
    ...common,
    token: shownOnce(token),
    acl: editable(acl),
    owner_id: fixed(owner),
    token_digest: hidden(text(64)),
  },
  unique: ({ token_digest }) => [
    { within: 'platform', scope: 'authtoken', name: token_digest, conflict: 'This token is in use.' },
  ],
})
