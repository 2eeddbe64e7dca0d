import { type StoredRecord, Vault, VaultSecret } from '../../../resources/index.ts'
import { claimOf, type Row } from '../../../store/index.ts'
import type { ApiCall, CommitContext } from '../../call.ts'
import { changeTime } from '../../crud/change-time.ts'
import { crud, find, render } from '../../crud/crud.ts'
import { listPage } from '../../crud/list-page.ts'
import { type ApiOperation, operation } from '../../crud/operations.ts'
import { fieldProblem } from '../../problems.ts'
import { vaultSecretsRoute } from './vault-routes.ts'

export const vaults = crud(Vault, {
  async prepare(record, context) {
    const updated_at = changeTime(context)
    if (updated_at === undefined) return { record }
    const { ownerId } = context.principal
    const created_by = context.existing === undefined ? ownerId : record.created_by
    return { record: { ...record, updated_at, created_by, last_updated_by: ownerId } }
  },
})

export const vaultSecrets = crud(VaultSecret, {
  async prepare(record, context) {
    const updated_at = changeTime(context)
    if (updated_at === undefined) return { record }
    const { ownerId } = context.principal
    const created_by_id = context.existing === undefined ? ownerId : record.created_by_id
    return { record: { ...record, updated_at, created_by_id, last_updated_by_id: ownerId } }
  },
  async commit(record, context) {
    if (context.existing !== undefined) return record
    // The name is shown as the vault has it at the time, so it is not stored.
    return { ...record, vault_id: await resolveVault(record, context), vault_name: '' }
  },
  async view(_row, { vault_id }, { store, principal }) {
    const vault = await store.get('vaults', principal.accountId, vault_id)
    return { vault_name: vault?.data.name ?? '' }
  },
})

/** The id of the vault that a creation names by id, by name or by both. */
async function resolveVault(
  { vault_id, vault_name }: StoredRecord<typeof VaultSecret>,
  { tx, principal }: CommitContext,
): Promise<string> {
  if (vault_name === '') {
    if (vault_id === '')
      throw fieldProblem('vault_id', 'invalid_field', 'vault_id or vault_name is required.')
    return vault_id
  }
  const claim = claimOf({ within: 'account', scope: 'vault_name', name: vault_name }, principal.accountId)
  const holder = await tx.holder(claim.scope, claim.name)
  if (holder === undefined) throw fieldProblem('vault_name', 'no_such_reference', 'vault_name', vault_name)
  if (vault_id !== '' && vault_id !== holder.id)
    throw fieldProblem(
      'vault_name',
      'invalid_field',
      `vault_name: ${vault_name} is not the name of ${vault_id}.`,
    )
  return holder.id
}

const BATCH_SIZE = 100

/** The newest secrets of a vault that are older than `before`, at most `limit`. */
async function readSecrets(
  vaultId: string,
  { store, principal }: ApiCall,
  before: string | undefined,
  limit: number,
): Promise<Row<'vault_secrets'>[]> {
  const secrets: Row<'vault_secrets'>[] = []
  for (let cursor = before; ; ) {
    const rows = await store.list('vault_secrets', principal.accountId, { limit: BATCH_SIZE, before: cursor })
    secrets.push(...rows.filter(({ data }) => data.vault_id === vaultId))
    if (secrets.length >= limit || rows.length < BATCH_SIZE) return secrets.slice(0, limit)
    cursor = rows.at(-1)?.id
  }
}

export const vaultSecretOperations: ApiOperation[] = [
  operation(vaultSecretsRoute, async (call, { params, page }) => {
    const { id } = await find(Vault, call, params.id, {})
    const description = {
      listKey: VaultSecret.listKey,
      path: `${Vault.path}/${id}/secrets`,
      itemSchema: VaultSecret.viewSchema,
    }
    return listPage(description, call, page, async (before, limit) => {
      const rows = await readSecrets(id, call, before, limit)
      return Promise.all(rows.map((row) => render(vaultSecrets, row, call)))
    })
  }),
]
