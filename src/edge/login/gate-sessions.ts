import { newId } from '../../base/id.ts'
import { ApplicationSession, type UserProfile } from '../../resources/index.ts'
import type { Exchange, VisitorSession } from '../exchange.ts'
import type { Cookies } from './cookies.ts'
import type { GateCookies } from './gate-cookies.ts'
import type { GateOptions } from './gate-options.ts'
import { revokeEverywhere } from './login-store.ts'
import { openTokens, type StoredTokens, sealTokens, selectTokens } from './provider-tokens.ts'
import { type Revocation, toUserSubject } from './revocations.ts'
import { encryptScoped } from './scoped-seal.ts'
import { createLifetime, type Session, type SessionEnd, type SessionLifetime } from './session.ts'
import type { CachedSession } from './session-cookie-cache.ts'
import { ACTIVITY_SECONDS, describeSession } from './started-session.ts'
import type { Ticket } from './tickets.ts'

/** How long a browser keeps the cookie of a session that has ended. */
const ENDED_SESSION_SECONDS = 86_400

/** The tokens of a request. */
export interface RequestTokens {
  readonly tokens: StoredTokens
  /** Whether they are newer than those of its cookies. */
  readonly isRenewed: boolean
}

const NO_TOKENS: RequestTokens = { tokens: {}, isRenewed: false }

/** The sessions of one gate: each is in a cookie of its visitor, and ends by its lifetime or by a revocation. */
export class GateSessions {
  readonly #options: GateOptions
  readonly #cookies: GateCookies
  readonly #lifetime: SessionLifetime

  /** What sessions are valid for: this gate with its settings, or all gates that share them. */
  readonly scope: { readonly scopeId: string; readonly version: string }

  constructor(options: GateOptions, cookies: GateCookies) {
    const { scopeId, version, shared } = options
    this.scope = shared === undefined ? { scopeId, version } : { scopeId: shared.scopeId, version: '' }
    this.#options = options
    this.#cookies = cookies
    this.#lifetime = createLifetime(options.settings, options.recheckSeconds)
  }

  isAlive(session: Session): boolean {
    const { accountId, revocations, signIn } = this.#options
    return (
      this.findEnd(session) === undefined &&
      !revocations.isRevoked(this.scope.scopeId, session.id, session.since) &&
      (session.user === undefined || !revocations.isRevoked(accountId, session.user, session.since)) &&
      signIn.signedOutSince?.(session.identity, session.since) !== true
    )
  }

  /** How the lifetime of a session ended; undefined while it has not. */
  findEnd(session: Session): SessionEnd | undefined {
    return this.#lifetime.findEnd(session, this.#nowSeconds())
  }

  /** The session of a request, alive or not. */
  find(exchange: Exchange, cookies: Cookies): CachedSession | undefined {
    const { cookieCache, requiredTokens } = this.#options
    const { scopeId, version } = this.scope
    const text = cookies.get(this.#cookies.session)
    const cachedSession = text === undefined ? undefined : cookieCache.get(text)
    if (cachedSession === undefined) return undefined
    const { session } = cachedSession
    if (session.scopeId !== scopeId || session.version !== version) return undefined
    if (!this.#cookies.isProven(exchange, cookies, session.id)) return undefined
    // Another endpoint that shares the session may require fewer.
    return requiredTokens.every((name) => session.tokens?.includes(name)) ? cachedSession : undefined
  }

  /** What policies read about the session of an admitted request. */
  describe({ id, since, follows }: Session, tokens: StoredTokens, nowSeconds: number): VisitorSession {
    return {
      id,
      expiresAt: this.#lifetime.expiresAt(since, nowSeconds) * 1000,
      follows,
      tokens: selectTokens(tokens, this.#options.requiredTokens),
    }
  }

  /** The tokens that a request goes on with. */
  findTokens(cachedSession: CachedSession, cookies: Cookies): RequestTokens {
    const { requiredTokens, renewals } = this.#options
    if (requiredTokens.length === 0) return NO_TOKENS
    const opened = this.#openTokens(cachedSession, cookies)
    const tokens = renewals.newest(cachedSession.session.id, opened)
    return { tokens, isRenewed: tokens !== opened }
  }

  /** Renews tokens that are about to expire; undefined when the request need not wait. */
  renewTokens(session: Session, tokens: StoredTokens): Promise<void> | undefined {
    const { renewals, signIn } = this.#options
    return renewals.renew(session, tokens, { signIn, onRevoked: () => this.#end(session) })
  }

  #openTokens(cachedSession: CachedSession, cookies: Cookies): StoredTokens {
    const { seal } = this.#options
    const sealed = this.#cookies.readTokens(cookies)
    if (cachedSession.tokens?.sealed !== sealed) {
      const opened = openTokens(seal, cachedSession.session.id, sealed) ?? {}
      // A copy: the text is a slice of the request head, which it would keep in memory.
      cachedSession.tokens = { sealed: Buffer.from(sealed, 'latin1').toString('latin1'), opened }
    }
    return cachedSession.tokens.opened
  }

  /** Starts the session of a visitor; returns the fields that set its cookies. */
  start(
    exchange: Exchange,
    { identity, tokens }: Pick<Ticket, 'identity' | 'tokens'>,
    context: {
      readonly provider: UserProfile['identity_provider']
      readonly origin: string
      readonly follows: SessionEnd | undefined
    },
  ): string {
    const { accountId, clock, requiredTokens, locate, store } = this.#options
    const { provider, origin, follows } = context
    const nowSeconds = this.#nowSeconds()
    const user = toUserSubject(provider.url, identity.id)
    const session: Session = {
      id: newId(ApplicationSession.prefix, clock.now()),
      ...this.scope,
      identity,
      user,
      ...(follows !== undefined && { follows }),
      ...(requiredTokens.length > 0 && { tokens: requiredTokens }),
      since: nowSeconds,
      seen: nowSeconds,
    }
    const lifetime = this.#lifetime
    store.recordSession(
      describeSession(exchange, session, { accountId, user, provider, origin, lifetime, locate }),
    )
    const cookie = { id: session.id, sealed: encryptScoped(this.#options.seal, 'session', session) }
    const seconds = this.#cookieSeconds(session)
    return (
      this.#cookies.formatSession(exchange, cookie, seconds) + this.formatTokens(exchange, session, tokens)
    )
  }

  /** The fields that set the cookies of tokens, or delete those of earlier ones when they are too large. */
  formatTokens(exchange: Exchange, session: Session, tokens: StoredTokens | undefined): string {
    const { requiredTokens, log, scopeId, seal } = this.#options
    if (requiredTokens.length === 0) return ''
    const sealed = tokens && sealTokens(seal, session.id, tokens)
    if (sealed !== undefined)
      return this.#cookies.formatTokens(exchange, sealed, this.#cookieSeconds(session))
    log.warn({ scopeId, names: requiredTokens }, 'tokens of a sign-in are too large for cookies')
    return this.#cookies.expireTokens(exchange)
  }

  /** A cookie outlives its session, so that the next session is known to follow it. */
  #cookieSeconds({ since }: Session): number | undefined {
    const { isConfigured, maxSeconds } = this.#lifetime
    return isConfigured
      ? Math.max(1, since + maxSeconds + ENDED_SESSION_SECONDS - this.#nowSeconds())
      : undefined
  }

  /** The field that replaces the cookie of a session. */
  renew(exchange: Exchange, session: Session): string {
    const sealed = encryptScoped(this.#options.seal, 'session', session)
    return this.#cookies.renewSession(exchange, sealed, this.#cookieSeconds(session))
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
  async revoke(session: Session): Promise<void> {
    const { clock, revocations, store } = this.#options
    await revokeEverywhere({ store, revocations, now: clock.now() }, this.#toRevocation(session))
  }

  /** Ends a session that the provider has ended; without the database at least on this node. */
  #end(session: Session): void {
    const { clock, revocations, store, log, scopeId } = this.#options
    const revocation = this.#toRevocation(session)
    revocations.add(revocation, clock.now())
    store
      .revoke(revocation)
      .catch((err: unknown) => log.warn({ err, scopeId }, 'session not ended on other nodes'))
  }

  #toRevocation({ id, since }: Session): Revocation {
    return {
      scopeId: this.scope.scopeId,
      subject: id,
      latestStart: since * 1000,
      expiresAt: (since + this.#lifetime.maxSeconds) * 1000,
    }
  }

  #nowSeconds(): number {
    return Math.floor(this.#options.clock.now() / 1000)
  }
}
