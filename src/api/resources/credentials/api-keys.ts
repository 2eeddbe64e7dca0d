import { mintToken, tokenDigest } from '../../../auth/index.ts'
import { ApiKey, TunnelCredential } from '../../../resources/index.ts'
import type { WriteContext } from '../../call.ts'
import { crud } from '../../crud/crud.ts'
import { ownerFor } from './owners.ts'

/** Issues the token of a new credential. The creation response shows it once; the store holds only its digest. */
async function issueToken<T extends { owner_id: string; token_digest: string }>(
  record: T,
  context: WriteContext,
) {
  if (context.existing !== undefined) return { record }
  const owner_id = ownerFor(record.owner_id, context)
  const token = mintToken(context.id).reveal()
  return { record: { ...record, owner_id, token_digest: tokenDigest(token) }, reveal: { token } }
}

export const apiKeys = crud(ApiKey, {
  prepare: issueToken,
  afterChange: (id, { dependencies }) => dependencies.auth.forget(id),
})

export const tunnelCredentials = crud(TunnelCredential, { prepare: issueToken })
