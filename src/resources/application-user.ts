import { defineResource, identity, live } from './schema/define.ts'
import { described, object, text } from './schema/value.ts'

const identityProvider = object(
  {
    name: described(text(255), 'The name of the identity provider, such as google.'),
    url: described(text(2048), 'The address of the identity provider; for SAML its entity ID.'),
  },
  { name: 'identity provider' },
)

/** A visitor who has signed in through an OAuth, OpenID Connect or SAML module or action. Created by signing in. */
export const ApplicationUser = defineResource({
  name: 'application user',
  description:
    'Visitors who have signed in through the OAuth, OpenID Connect and SAML modules and actions. Deleting one ends all their sessions; they can sign in again.',
  path: '/app/users',
  prefix: 'au',
  listKey: 'application_users',
  online: true,
  operations: ['get', 'list', 'delete'],
  fields: {
    ...identity,
    identity_provider: live(identityProvider, 'Where the visitor signs in.'),
    provider_user_id: live(text(2048), 'The ID of the visitor at the identity provider.'),
    username: live(text(255), 'The user name at the identity provider, if it provides one.'),
    email: live(text(320), 'The verified email address, if the identity provider provides one.'),
    name: live(text(255), 'The full name.'),
    last_active: live(text(64), 'When the visitor last sent a request, to the minute.'),
    last_login: live(text(64), 'When the visitor last signed in.'),
  },
})

/** Who has signed in, as the identity provider describes them. */
export interface UserProfile {
  readonly identity_provider: { readonly name: string; readonly url: string }
  readonly provider_user_id: string
  readonly username: string
  readonly email: string
  readonly name: string
}
