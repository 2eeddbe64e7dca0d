import { author } from './author.ts'
import { assigned, common, defineResource, editable, fixed } from './schema/define.ts'
import { omittedFields } from './schema/omitted-fields.ts'
import { nonEmpty, reference, required, secret, text } from './schema/value.ts'
import { vaultName } from './vault.ts'

const MAX_VALUE_BYTES = 65_536

/** A secret value in a vault. Only traffic policies read it, by `secrets.get`. */
export const VaultSecret = defineResource({
  name: 'vault secret',
  description: 'Secret values that traffic policies read.',
  path: '/vault_secrets',
  prefix: 'secret',
  listKey: 'secrets',
  event: 'secret',
  fields: {
    ...common,
    updated_at: assigned(text(64), 'When it last changed.'),
    name: editable(
      required(vaultName),
      'The name by which traffic policies find the secret. It must be unique in its vault.',
      'github',
    ),
    value: editable(
      required(secret(nonEmpty(MAX_VALUE_BYTES), 'redacted')),
      'The secret value. It is never shown again.',
      'a secret value',
    ),
    // One of the two is required: the API resolves a name to the id.
    vault: fixed(reference(['vault'], 'vault_id'), 'The vault that the secret belongs to.'),
    vault_name: fixed(
      text(255),
      'The name of the vault that the secret belongs to. Give this or vault_id to create a secret.',
    ),
    created_by: assigned(author('created_by_id'), 'The user or bot user who created it.'),
    last_updated_by: assigned(author('last_updated_by_id'), 'The user or bot user who changed it last.'),
    left_out: omittedFields,
  },
  unique: ({ vault_id, name }) => [
    {
      within: 'account',
      scope: 'vault_secret_name',
      name: `${vault_id} ${name}`,
      conflict: `There is a secret called ${name} in this vault already.`,
    },
  ],
})
