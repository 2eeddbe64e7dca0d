import { authorId } from './author.ts'
import { assigned, common, defineResource, editable } from './schema/define.ts'
import { matching, required, text } from './schema/value.ts'

/** A name of a vault or secret, as `secrets.get` writes it. */
export const vaultName = matching(
  255,
  /^[A-Za-z0-9_./-]+$/,
  () => 'must consist of letters, digits, underscores, hyphens, dots and slashes.',
)

/** A named collection of secrets, which traffic policies read. */
export const Vault = defineResource({
  name: 'vault',
  description: 'Named collections of secrets.',
  path: '/vaults',
  prefix: 'vault',
  listKey: 'vaults',
  event: 'vault',
  fields: {
    ...common,
    updated_at: assigned(text(64), 'When it last changed.'),
    name: editable(
      required(vaultName),
      'The name by which traffic policies find the vault. It must be unique in the account.',
      'webhooks',
    ),
    created_by: assigned(authorId, 'The user or bot user who created it.'),
    last_updated_by: assigned(authorId, 'The user or bot user who changed it last.'),
  },
  unique: ({ name }) => [
    { within: 'account', scope: 'vault_name', name, conflict: `There is a vault called ${name} already.` },
  ],
})
