import { defineResource, editable, fixed, identity } from './define.ts'
import { ROLES } from './roles.ts'
import { choice, flag, name, required } from './value.ts'

/** A person with access to the account. */
export const User = defineResource({
  name: 'user',
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
        name(255, (value) =>
          /^[^@\s]+@[^@\s]+$/.test(value) ? undefined : `"${value}" is not an email address.`,
        ),
      ),
    ),
    name: editable(name(255)),
    role: editable(choice(ROLES, 'developer')),
    active: editable(flag(true)),
  },
  unique: ({ email }) => [
    {
      within: 'account',
      scope: 'user_email',
      name: email.toLowerCase(),
      taken: `There is a user with the email address ${email} already.`,
    },
  ],
})
