import { EMAIL_ADDRESS } from '../base/values/email-address.ts'
import { defineResource, editable, fixed, identity } from './schema/define.ts'
import { ROLES } from './schema/roles.ts'
import { choice, documentedAs, flag, name, required } from './schema/value.ts'

/** A person with access to the account. */
export const User = defineResource({
  name: 'user',
  description: 'People with access to the account.',
  path: '/users',
  prefix: 'usr',
  listKey: 'users',
  event: 'user',
  // Decision 19: reading it reveals who has access.
  roles: { read: 'admin', change: 'admin' },
  fields: {
    ...identity,
    email: fixed(
      required(
        documentedAs(
          name(255, (value) =>
            EMAIL_ADDRESS.test(value) ? undefined : `"${value}" is not an email address.`,
          ),
          { pattern: EMAIL_ADDRESS.source },
        ),
      ),
      'The email address, which is also the sign-in name.',
      'ada@example.com',
    ),
    name: editable(name(255), 'The display name.', 'Ada Lovelace'),
    role: editable(
      choice(ROLES, 'developer'),
      'What the user may do: read the account, change it, or administer it.',
    ),
    active: editable(flag(true), 'Inactive users can neither sign in nor use their credentials.'),
  },
  naturalName: ({ email }) => email.toLowerCase(),
  unique: ({ email }) => [
    {
      within: 'account',
      scope: 'user_email',
      name: email.toLowerCase(),
      conflict: `There is a user with the email address ${email} already.`,
    },
  ],
})
