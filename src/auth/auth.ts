import { type Clock, systemClock } from '../base/values/clock.ts'
import type { Role } from '../resources/index.ts'
import type { Reader, Row, Store } from '../store/index.ts'
import { isTokenShaped, tokenDigest } from './token.ts'

/** The caller of the management API, and the credential that proved it. */
export interface Principal {
  readonly accountId: string
  /** The API key, or the browser session of a signed-in user. */
  readonly credentialId: string
  /** The user or bot that owns the credential. */
  readonly ownerId: string
  readonly role: Role
  /** Set when the call comes from the dashboard. */
  readonly channel?: 'dashboard'
  /** False when the owner is deactivated: authenticated, but not admitted. */
  readonly active: boolean
}

/** The principal of a tunnel session, and what it may bind. */
export interface TunnelPrincipal {
  readonly accountId: string
  readonly credentialId: string
  readonly ownerId: string
  readonly acl: readonly string[]
}

export interface Auth {
  /** The principal of an API key's token. */
  apiKey(token: string): Promise<Principal | undefined>
  /** The role and state of a user or bot; read-only and inactive when there is none. */
  owner(accountId: string, ownerId: string): Promise<{ role: Role; active: boolean }>
  /** The principal of an authtoken. */
  authtoken(token: string): Promise<TunnelPrincipal | undefined>
  /**
   * The principal of an SSH public key, by its fingerprint. When several accounts hold the key, the user name selects one
   * by the id of the account or credential; any other name selects the first holder.
   */
  sshKey(fingerprint: string, userName: string): Promise<TunnelPrincipal | undefined>
  /** Changes with every `forget`: other caches of principals must be revalidated. */
  generation(): number
  /** Evicts a credential that was changed or deleted on this node from the cache. */
  forget(credentialId: string): void
}

// A revoked key may stay valid this long on other nodes (P41 allows 5 s); on the revoking node `forget` evicts it at once.
const CACHE_TTL_MS = 2000
const MAX_CACHED = 10_000

// The operator creates accounts: more holders of one key are an error.
const MAX_KEY_HOLDERS = 1000
const HOLDER_ID = /^(ac|sshcr)_[0-9A-Za-z]{27}$/

type Holder = Awaited<ReturnType<Reader['holder']>>
/** Looks up a credential, in the database or its local copy. */
type FindHolder = (reader: Reader) => Promise<Holder>

/** The holder of an SSH key that the user name selects. Ids increase with time, so a later account never displaces an earlier one. */
function selectHolder(holders: NonNullable<Holder>[], userName: string): Holder {
  if (HOLDER_ID.test(userName))
    return holders.find(({ account, id }) => account === userName || id === userName)
  return holders.toSorted((one, other) => (one.id < other.id ? -1 : 1))[0]
}

/** Authenticates credentials by the digest of their token. */
export function createAuth({ store, clock = systemClock }: { store: Store; clock?: Clock }): Auth {
  const cache = new Map<string, { principal: Principal; expiresAt: number }>()
  let currentGeneration = 0

  async function findOwner(
    accountId: string,
    ownerId: string,
    reader: Reader = store,
  ): Promise<{ role: Role; active: boolean }> {
    if (ownerId.startsWith('usr_')) {
      const user = await reader.get('users', accountId, ownerId)
      if (user !== undefined) return { role: user.data.role, active: user.data.active === true }
    } else {
      const bot = await reader.get('bot_users', accountId, ownerId)
      if (bot !== undefined) return { role: bot.data.role ?? 'developer', active: bot.data.active === true }
    }
    return { role: 'read_only', active: false }
  }

  /**
   * The row of a token or key. The local copy of the database is read first; only the database itself may decide that a
   * token is unknown, because an agent gives up on that. While it is unavailable, such a token fails as unavailable.
   * `expected`: what it was when it was last read.
   */
  async function findCredential<K extends string>(
    kind: K,
    find: FindHolder,
    expected?: Principal,
  ): Promise<Row<K> | undefined> {
    const { fallbackReader } = store
    const [found, row] = await Promise.all([
      find(fallbackReader),
      expected && fallbackReader.get(kind, expected.accountId, expected.credentialId),
    ])
    const holder = found ?? (await find(store))
    if (holder === undefined || holder.kind !== kind) return undefined
    return row?.id === holder.id ? row : fallbackReader.get(kind, holder.account, holder.id)
  }

  async function toTunnelPrincipal(
    kind: 'credentials' | 'ssh_credentials',
    find: FindHolder,
  ): Promise<TunnelPrincipal | undefined> {
    const row = await findCredential(kind, find)
    if (row === undefined) return undefined
    const ownerId = row.data.owner_id
    if (!(await findOwner(row.account, ownerId, store.fallbackReader)).active) return undefined
    return { accountId: row.account, credentialId: row.id, ownerId, acl: row.data.acl }
  }

  return {
    async apiKey(token) {
      if (!isTokenShaped(token)) return undefined
      const digest = tokenDigest(token)
      const cached = cache.get(digest)
      if (cached !== undefined && cached.expiresAt > clock.monotonic()) return cached.principal

      const startGeneration = currentGeneration
      // What it was before is read along with the rest: one round trip instead of three to a far database.
      const expected = cached?.principal
      const [row, expectedOwner] = await Promise.all([
        findCredential('api_keys', (reader) => reader.holder('api_token', digest), expected),
        expected && findOwner(expected.accountId, expected.ownerId, store.fallbackReader),
      ])
      if (row === undefined) {
        cache.delete(digest)
        return undefined
      }
      const ownerId = row.data.owner_id
      const owner = ownerId === expected?.ownerId ? expectedOwner : undefined
      const principal = {
        accountId: row.account,
        credentialId: row.id,
        ownerId,
        ...(owner ?? (await findOwner(row.account, ownerId, store.fallbackReader))),
      }
      // A row read during a revocation may be the revoked one: do not cache it.
      if (startGeneration !== currentGeneration) return principal
      if (cache.size >= MAX_CACHED) cache.clear()
      cache.set(digest, { principal, expiresAt: clock.monotonic() + CACHE_TTL_MS })
      return principal
    },

    async authtoken(token) {
      if (!isTokenShaped(token)) return undefined
      const digest = tokenDigest(token)
      return toTunnelPrincipal('credentials', (reader) => reader.holder('authtoken', digest))
    },

    owner: (accountId, ownerId) => findOwner(accountId, ownerId),

    generation: () => currentGeneration,

    sshKey: (fingerprint, userName) =>
      toTunnelPrincipal('ssh_credentials', async (reader) =>
        selectHolder(await reader.holdersWithPrefix('ssh_key', fingerprint, MAX_KEY_HOLDERS), userName),
      ),

    forget(credentialId) {
      currentGeneration += 1
      for (const [digest, { principal }] of cache)
        if (principal.credentialId === credentialId || principal.ownerId === credentialId)
          cache.delete(digest)
    },
  }
}
