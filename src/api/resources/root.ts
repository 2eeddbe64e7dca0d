import { formatTimestamp } from '../../base/values/clock.ts'
import { prefixOf } from '../../base/values/id.ts'
import { ApiKey, allResources } from '../../resources/index.ts'
import type { ApiCall } from '../call.ts'
import { get } from '../crud/crud.ts'
import type { ApiOperation } from '../crud/operations.ts'
import { problem } from '../problems.ts'
import { apiKeys } from './credentials/api-keys.ts'
import { rootRoutes } from './root-routes.ts'

/** The API speaks one version. */
const API_VERSION = 2

/** The path of every list that is not below another object, by the kind of its items. */
const LISTS = allResources.filter(
  ({ operations, parents }) => operations.includes('list') && parents.length === 0,
)

async function describeAccount({ principal, store }: ApiCall): Promise<Record<string, unknown>> {
  const row = await store.get('accounts', principal.accountId, principal.accountId)
  if (row === undefined) throw problem('not_found', 'account', principal.accountId)
  return {
    id: row.id,
    name: row.data.name,
    created_at: formatTimestamp(row.createdAt),
    suspended: false,
    enforce_sso: false,
    min_api_version: API_VERSION,
    min_agent_version: '',
    user_mfa_required: false,
    traffic_full_capture: false,
  }
}

export const rootOperations: ApiOperation[] = [
  {
    ...rootRoutes.get,
    async run({ config }) {
      const uri = config.apiUrl()
      return {
        uri: `${uri}/`,
        subresource_uris: Object.fromEntries(LISTS.map(({ kind, path }) => [kind, `${uri}${path}`])),
      }
    },
  },
  {
    ...rootRoutes.self,
    async run(call) {
      const { credentialId, ownerId } = call.principal
      const isKey = prefixOf(credentialId) === ApiKey.prefix
      return {
        api_key: isKey ? await get(apiKeys, call, credentialId, {}) : null,
        account: await describeAccount(call),
        user: ownerId,
      }
    },
  },
]
