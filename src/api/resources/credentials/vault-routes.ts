import { Vault, VaultSecret } from '../../../resources/index.ts'
import type { ApiRoute, ItemPath } from '../../routes.ts'

/** Lists the secrets of one vault. */
export const vaultSecretsRoute: ApiRoute<ItemPath> = {
  id: 'vaults.secrets.list',
  summary: 'List the secrets of a vault',
  tag: Vault.kind,
  method: 'GET',
  path: `${Vault.path}/{id}/secrets`,
  response: VaultSecret.listSchema,
  status: 200,
  paged: VaultSecret.prefix,
  requires: VaultSecret.roles.read,
}
