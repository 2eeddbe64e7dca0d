import type { Clock } from '../base/values/clock.ts'
import { newId } from '../base/values/id.ts'
import type { Secret } from '../base/values/secret.ts'
import { ApiKey, TunnelCredential, User } from '../resources/index.ts'
import { draftOf, type Store } from '../store/index.ts'
import { mintToken, tokenDigest } from './token.ts'

/** A new account with the credentials of its first user; the secrets are not stored and cannot be read again. */
export interface NewAccount {
  readonly accountId: string
  readonly userId: string
  readonly apiKey: Secret
  readonly authtoken: Secret
}

/** Creates an account with an administrator, an API key and an authtoken in one transaction. */
export async function createAccount(
  store: Store,
  { name, email, clock }: { name: string; email: string; clock: Clock },
): Promise<NewAccount> {
  const now = clock.now()
  const accountId = newId('ac', now)
  const userId = newId('usr', now)
  const keyId = newId(ApiKey.prefix, now)
  const credentialId = newId(TunnelCredential.prefix, now)
  const apiKey = mintToken(keyId)
  const authtoken = mintToken(credentialId)
  const drafts = [
    draftOf(User, userId, accountId, User.parseCreate({ email, name, role: 'admin' })),
    draftOf(ApiKey, keyId, accountId, {
      ...ApiKey.parseCreate({ description: 'Created with the account' }),
      owner_id: userId,
      token_digest: tokenDigest(apiKey.reveal()),
    }),
    draftOf(TunnelCredential, credentialId, accountId, {
      ...TunnelCredential.parseCreate({ description: 'Created with the account' }),
      owner_id: userId,
      token_digest: tokenDigest(authtoken.reveal()),
    }),
  ]
  await store.write({ principal: userId }, async (tx) => {
    await tx.insert({
      kind: 'accounts',
      id: accountId,
      account: accountId,
      data: { name },
      claims: [{ scope: 'account_name', name: name.toLowerCase() }],
      references: [],
    })
    for (const draft of drafts) await tx.insert(draft)
    await tx.audit({
      account: accountId,
      principal: userId,
      credential: undefined,
      source: undefined,
      requestId: newId('op', now),
      action: 'create',
      kind: 'accounts',
      object: accountId,
      outcome: 'done',
    })
  })
  return { accountId, userId, apiKey, authtoken }
}

/** The first account, if any. */
export async function firstAccount(store: Store): Promise<{ id: string; name: string } | undefined> {
  const [row] = await store.fallbackReader.scan('accounts', { limit: 1 })
  return row && { id: row.id, name: row.data.name as string }
}
