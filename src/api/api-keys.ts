import { mintToken, tokenDigest } from '../auth/index.ts'
import { ApiKey, TunnelCredential } from '../resources/index.ts'
import type { Writing } from './call.ts'
import { crud } from './crud.ts'
import { ownerFor } from './owners.ts'

/** Gives a new credential its token: shown in this one answer, kept as a digest. */
async function withToken<T extends { owner_id: string; token_digest: string }>(record: T, writing: Writing) {
  if (writing.before !== undefined) return { record }
  const owner_id = ownerFor(record.owner_id, writing)
  const token = mintToken(writing.id).reveal()
  return { record: { ...record, owner_id, token_digest: tokenDigest(token) }, reveal: { token } }
}

export const apiKeys = crud(ApiKey, {
  prepare: withToken,
  settled: (id, { parts }) => parts.auth.forget(id),
})

export const tunnelCredentials = crud(TunnelCredential, { prepare: withToken })
