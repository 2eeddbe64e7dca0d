import { createHmac, timingSafeEqual } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { type BrowserAuth, problem } from '../../api/index.ts'
import { type Auth, isTokenShaped, mintToken, type Principal, tokenDigest } from '../../auth/index.ts'
import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import { newId } from '../../base/values/id.ts'
import { plainAddress } from '../../base/values/ip-rules.ts'
import type { Secret } from '../../base/values/secret.ts'
import { type DashboardSession, type DurableStore, openDashboardSessions } from '../../store/index.ts'
import { cookieName, isSecure, readCookie } from './cookie.ts'

const MINUTE = 60_000
const IDLE_TIMEOUT_MS = 12 * 60 * MINUTE
const MAX_AGE_MS = 7 * 24 * 60 * MINUTE
// The last use is written at most this often: a page that polls must not write on every call.
const TOUCH_INTERVAL_MS = 5 * MINUTE
const MAX_SESSIONS_PER_OWNER = 50

/** The parts of a request that identify a session. */
type SessionRequest = Parameters<BrowserAuth['authenticate']>[0]

/** A live session with its principal. */
export interface CurrentSession {
  readonly session: DashboardSession
  readonly principal: Principal
  /** The token the browser must send beside the cookie. */
  readonly csrf: string
  /** When the session expires if it is not used again. */
  readonly expiresAt: number
}

/** The sessions of signed-in browsers. */
export interface BrowserSessions extends BrowserAuth {
  /** The maximum lifetime of a session, in seconds. */
  readonly maxAgeSeconds: number
  /** The id for a new session. */
  newId(): string
  open(
    id: string,
    identity: { account: string; owner: string; apiKey: string | undefined },
  ): Promise<{ token: Secret; current: CurrentSession }>
  /** The live session of the cookie, if any; does not require the CSRF token. */
  current(request: SessionRequest): Promise<CurrentSession | undefined>
  /** Ends the session of the cookie. */
  close(request: SessionRequest): Promise<void>
  /** Ends the session with this token. */
  closeToken(token: Secret): Promise<void>
  /** When the users and bots of an account signed in last, by id. */
  lastSignIns(account: string): Promise<ReadonlyMap<string, number>>
  /** Ends all sessions of a user except the one with this id. */
  closeAll(owner: string, except?: string): Promise<void>
}

/** Rejects cross-site requests. Browsers omit the header without TLS. */
export function requireSameSite(headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') throw problem('foreign_site')
}

/** Derives the CSRF token from the session token, so it is not stored and reveals nothing about it. */
function csrfToken(token: string): string {
  return createHmac('sha256', token).update('adit dashboard csrf').digest('base64url')
}

function isEqualText(one: string, other: string): boolean {
  const [a, b] = [Buffer.from(one), Buffer.from(other)]
  return a.length === b.length && timingSafeEqual(a, b)
}

export function createBrowserSessions({
  store,
  auth,
  admits,
  listenerUrl,
  clock,
  log,
}: {
  store: DurableStore
  auth: Auth
  /** Whether the account's IP restrictions allow this address to use the dashboard. */
  admits: (accountId: string, address: string) => boolean
  listenerUrl: () => string
  clock: Clock
  log: Logger
}): BrowserSessions {
  const sessions = openDashboardSessions(store)

  function tokenOf(request: SessionRequest): string | undefined {
    const token = readCookie(request.headers.cookie, cookieName(isSecure(request, listenerUrl())))
    return token !== undefined && isTokenShaped(token) ? token : undefined
  }

  function hasExpired({ createdAt, seenAt }: DashboardSession, now: number): boolean {
    return now - seenAt >= IDLE_TIMEOUT_MS || now - createdAt >= MAX_AGE_MS
  }

  async function principalOf(session: DashboardSession): Promise<Principal | undefined> {
    const { id, account, owner, apiKey } = session
    if (apiKey !== undefined && (await store.get('api_keys', account, apiKey)) === undefined) return undefined
    const { role, active } = await auth.owner(account, owner)
    if (!active) return undefined
    return { accountId: account, credentialId: id, ownerId: owner, role, active, channel: 'dashboard' }
  }

  async function touch(digest: string, { id, seenAt }: DashboardSession, now: number): Promise<void> {
    if (now - seenAt < TOUCH_INTERVAL_MS) return
    // Reads must work while the store is read-only.
    await sessions
      .touch(digest, now)
      .catch((error) => log.warn({ err: error, session: id }, 'session use not recorded'))
  }

  function toCurrentSession(token: string, session: DashboardSession, principal: Principal): CurrentSession {
    const expiresAt = Math.min(session.createdAt + MAX_AGE_MS, clock.now() + IDLE_TIMEOUT_MS)
    return { session, principal, csrf: csrfToken(token), expiresAt }
  }

  async function findCurrent(token: string, ip: string): Promise<CurrentSession | undefined> {
    const digest = tokenDigest(token)
    const session = await sessions.find(digest)
    const now = clock.now()
    if (session === undefined || hasExpired(session, now)) return undefined
    const principal = await principalOf(session)
    if (principal === undefined) return undefined
    const address = plainAddress(ip)
    if (!admits(session.account, address)) throw problem('address_refused', address)
    await touch(digest, session, now)
    return toCurrentSession(token, session, principal)
  }

  return {
    maxAgeSeconds: MAX_AGE_MS / 1000,
    newId: () => newId('das', clock.now()),
    async open(id, { account, owner, apiKey }) {
      const token = mintToken(id)
      const now = clock.now()
      const session = { id, account, owner, apiKey, createdAt: now, seenAt: now }
      await sessions.add(tokenDigest(token.reveal()), session, {
        keep: MAX_SESSIONS_PER_OWNER,
        createdAfter: now - MAX_AGE_MS,
        seenAfter: now - IDLE_TIMEOUT_MS,
      })
      const principal = await principalOf(session)
      if (principal === undefined) throw problem('signed_out')
      return { token, current: toCurrentSession(token.reveal(), session, principal) }
    },
    async current(request) {
      const token = tokenOf(request)
      return token === undefined ? undefined : findCurrent(token, request.ip)
    },
    async authenticate(request) {
      const { headers, ip } = request
      const token = tokenOf(request)
      if (token === undefined) throw problem('no_key')
      requireSameSite(headers)
      const csrf = headers['x-csrf-token']
      if (typeof csrf !== 'string' || !isEqualText(csrf, csrfToken(token))) throw problem('no_csrf')
      const current = await findCurrent(token, ip)
      if (current === undefined) throw problem('signed_out')
      return current.principal
    },
    async close(request) {
      const token = tokenOf(request)
      if (token !== undefined) await sessions.remove(tokenDigest(token))
    },
    closeToken: (token) => sessions.remove(tokenDigest(token.reveal())),
    async revalidate(account, owner) {
      const { active } = await auth.owner(account, owner)
      if (!active) await sessions.removeByOwner(owner)
    },
    lastSignIns: (account) => sessions.lastSignIns(account),
    closeAll: (owner, exceptId) => sessions.removeByOwner(owner, exceptId),
  }
}
