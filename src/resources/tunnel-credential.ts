import { common, defineResource, editable, fixed, hidden, shownOnce } from './define.ts'
import { acl } from './formats.ts'
import { owner } from './owner.ts'
import { text } from './value.ts'

/** An authtoken that lets an agent start tunnels. */
export const TunnelCredential = defineResource({
  name: 'tunnel credential',
  path: '/credentials',
  prefix: 'cr',
  listKey: 'credentials',
  event: 'tunnel_credential',
  roles: { guard: 'owner' },
  fields: {
    ...common,
    token: shownOnce(text(128)),
    acl: editable(acl),
    owner_id: fixed(owner),
    token_digest: hidden(text(64)),
  },
  unique: ({ token_digest }) => [
    { within: 'platform', scope: 'authtoken', name: token_digest, taken: 'This token is in use.' },
  ],
})
