import { newId } from '../../base/id.ts'
import { ApplicationSession, type UserProfile } from '../../resources/index.ts'
import type { Exchange } from '../exchange.ts'
import { type Cookies, formatSetCookie } from './cookies.ts'
import { type GateCookies, isSecure } from './gate-cookies.ts'
import type { GateOptions } from './gate-options.ts'
import { revokeEverywhere } from './login-store.ts'
import { toUserSubject } from './revocations.ts'
import { encryptScoped } from './scoped-seal.ts'
import { createLifetime, type Session, type SessionLifetime } from './session.ts'
import type { CachedSession } from './session-cookie-cache.ts'
import type { Identity } from './sign-in.ts'
import { ACTIVITY_SECONDS, describeSession } from './started-session.ts'

/** The sessions of one gate: each is in a cookie of its visitor, and ends by its lifetime or by a revocation. */
export class GateSessions {
  readonly #options: GateOptions
  readonly #cookies: GateCookies
  readonly #lifetime: SessionLifetime

  constructor(options: GateOptions, cookies: GateCookies) {
    this.#options = options
    this.#cookies = cookies
    this.#lifetime = createLifetime(options.settings, options.recheckSeconds)
  }

  isAlive(session: Session): boolean {
    const { accountId, scopeId, revocations, signIn } = this.#options
    return (
      !this.#lifetime.hasExpired(session, this.#nowSeconds()) &&
      !revocations.isRevoked(scopeId, session.id, session.since) &&
      (session.user === undefined || !revocations.isRevoked(accountId, session.user, session.since)) &&
      signIn.signedOutSince?.(session.identity, session.since) !== true
    )
  }

  /** The valid session of a request, if it has one. */
  read(exchange: Exchange, cookies: Cookies): CachedSession | undefined {
    const { cookieCache, scopeId, version } = this.#options
    const text = cookies.get(this.#cookies.session)
    const cachedSession = text === undefined ? undefined : cookieCache.get(text)
    if (cachedSession === undefined) return undefined
    const { session } = cachedSession
    if (session.scopeId !== scopeId || session.version !== version) return undefined
    if (isSecure(exchange) && cookies.get(this.#cookies.proof) !== session.id) return undefined
    return this.isAlive(session) ? cachedSession : undefined
  }

  /** Starts the session of a visitor; returns the fields that set its cookies. */
  start(
    exchange: Exchange,
    identity: Identity,
    { provider, origin }: { provider: UserProfile['identity_provider']; origin: string },
  ): string {
    const { accountId, scopeId, version, clock, locate, store } = this.#options
    const nowSeconds = this.#nowSeconds()
    const user = toUserSubject(provider.url, identity.id)
    const session: Session = {
      id: newId(ApplicationSession.prefix, clock.now()),
      scopeId,
      version,
      identity,
      user,
      since: nowSeconds,
      seen: nowSeconds,
    }
    const lifetime = this.#lifetime
    store.recordSession(
      describeSession(exchange, session, { accountId, user, provider, origin, lifetime, locate }),
    )
    const secure = isSecure(exchange)
    const seconds = lifetime.isConfigured ? lifetime.maxSeconds : undefined
    const proof = secure ? formatSetCookie(this.#cookies.proof, session.id, { secure, seconds }) : ''
    return this.formatCookie(session, secure) + proof
  }

  formatCookie(session: Session, secure: boolean): string {
    const { isConfigured, maxSeconds } = this.#lifetime
    const seconds = isConfigured ? Math.max(1, session.since + maxSeconds - this.#nowSeconds()) : undefined
    const text = encryptScoped(this.#options.seal, 'session', session)
    return formatSetCookie(this.#cookies.session, text, { secure, seconds })
  }

  /** Reports a session that is in use, once a minute. */
  reportActivity(cachedSession: CachedSession, nowSeconds: number): void {
    const { accountId, store } = this.#options
    const { id, since } = cachedSession.session
    const interval = Math.floor(nowSeconds / ACTIVITY_SECONDS)
    if (interval <= cachedSession.reportedInterval) return
    cachedSession.reportedInterval = interval
    const expiresAt = this.#lifetime.expiresAt(since, nowSeconds + ACTIVITY_SECONDS) * 1000
    store.recordActivity({ account: accountId, id, lastActive: nowSeconds * 1000, expiresAt })
  }

  /** Revokes a session on all nodes. */
  async revoke({ id, since }: Session): Promise<void> {
    const { clock, revocations, scopeId, store } = this.#options
    await revokeEverywhere(
      { store, revocations, now: clock.now() },
      {
        scopeId,
        subject: id,
        latestStart: since * 1000,
        expiresAt: (since + this.#lifetime.maxSeconds) * 1000,
      },
    )
  }

  #nowSeconds(): number {
    return Math.floor(this.#options.clock.now() / 1000)
  }
}
