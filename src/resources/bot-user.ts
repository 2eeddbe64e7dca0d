import { aliasOf, defineResource, editable, identity } from './schema/define.ts'
import { ROLES } from './schema/roles.ts'
import { choice, documentedAs, flag, name, required, VISIBLE } from './schema/value.ts'

/** A service user: owns credentials that outlive the people who created them. */
export const BotUser = defineResource({
  name: 'bot user',
  description: 'Users for programs.',
  path: '/bot_users',
  prefix: 'bot',
  listKey: 'bot_users',
  event: 'bot_user',
  // Decision 19: reading it reveals who has access.
  roles: { read: 'admin', change: 'admin' },
  fields: {
    ...identity,
    name: editable(
      required(
        documentedAs(
          name(255, (value) => (value.trim() === '' ? 'must not be empty.' : undefined)),
          { pattern: VISIBLE.source },
        ),
      ),
      'The program or service that the bot user represents.',
      'deploy',
    ),
    role: editable(
      choice(ROLES, 'developer'),
      'What its credentials may do: read the account, change it, or administer it.',
    ),
    active: editable(flag(true), 'An inactive bot user cannot use its credentials.'),
  },
  naturalName: ({ name }) => name,
  unique: ({ name }) => [
    { within: 'account', scope: 'bot_name', name, conflict: `There is a bot user called ${name} already.` },
  ],
})

/** Bot users under the name that the original gave them later. Both paths have the same users with the same ids. */
export const ServiceUser = aliasOf(BotUser, {
  name: 'service user',
  description: 'Users for programs: another name for bot users.',
  path: '/service_users',
  tag: 'service_users',
  listKey: 'service_users',
})
