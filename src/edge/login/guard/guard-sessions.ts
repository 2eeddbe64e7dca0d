import { newId } from '../../../base/values/id.ts'
import { ApplicationSession, type UserProfile } from '../../../resources/index.ts'
import type { Exchange, VisitorSession } from '../../contracts/exchange.ts'
import type { Cookies } from '../../cookies.ts'
import type { ProviderTokenName } from '../../services/logins.ts'
import { createIdentityFields } from '../identity-fields.ts'
import {
  addLogoutHint,
  openTokens,
  type StoredTokens,
  sealTokens,
  selectTokens,
  type TokenGrant,
  toStoredTokens,
} from '../provider-tokens.ts'
import { encryptScoped } from '../scoped-seal.ts'
import { revokeEverywhere } from '../sessions/login-store.ts'
import { type Revocation, toUserSubject } from '../sessions/revocations.ts'
import { createLifetime, type Session, type SessionEnd, type SessionLifetime } from '../sessions/session.ts'
import type { CachedSession } from '../sessions/session-cookie-cache.ts'
import { ACTIVITY_SECONDS, describeSession } from '../sessions/session-details.ts'
import type { Ticket } from '../sessions/tickets.ts'
import type { GuardCookies } from './guard-cookies.ts'
import type { GuardOptions } from './guard-options.ts'

/** How long a browser keeps the cookie of a session that has ended. */
const ENDED_SESSION_SECONDS = 86_400

/** The session that a request goes on with. */
export interface RequestSession {
  readonly cachedSession: CachedSession
  readonly tokens: StoredTokens
  /** Whether they are newer than those of the cookies. */
  readonly isSessionRenewed: boolean
  readonly areTokensRenewed: boolean
  /** Whether the provider has to confirm the identity. */
  readonly isCheckDue: boolean
}

const NO_TOKENS: StoredTokens = {}

/** The sessions of one guard: each is in a cookie of its visitor, and ends by its lifetime or by a revocation. */
export class GuardSessions {
  readonly #options: GuardOptions
  readonly #cookies: GuardCookies
  readonly #lifetime: SessionLifetime

  /** What sessions are valid for: this guard with its settings, or all guards that share them. */
  readonly scope: { readonly scopeId: string; readonly version: string }

  constructor(options: GuardOptions, cookies: GuardCookies) {
    const { scopeId, version, shared } = options
    this.scope = shared === undefined ? { scopeId, version } : { scopeId: shared.scopeId, version: '' }
    this.#options = options
    this.#cookies = cookies
    this.#lifetime = createLifetime(options.settings, options.recheckSeconds)
  }

  isAlive(session: Session): boolean {
    const { accountId, revocations, signIn } = this.#options
    return (
      this.#lifetime.findEnd(session, this.#nowSeconds()) === undefined &&
      !revocations.isRevoked(this.scope.scopeId, session.id, session.since) &&
      (session.user === undefined || !revocations.isRevoked(accountId, session.user, session.since)) &&
      signIn.signedOutSince?.(session.identity, session.since) !== true
    )
  }

  /** How the lifetime of a session ended; undefined while it has not. */
  findEnd(session: Session): SessionEnd | undefined {
    const nowSeconds = this.#nowSeconds()
    const isCheckDue = this.#lifetime.isCheckDue(session, nowSeconds)
    return this.#lifetime.findEnd(session, nowSeconds) ?? (isCheckDue ? 'recheck' : undefined)
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
  describe(session: Session, tokens: StoredTokens, nowSeconds: number): VisitorSession {
    return {
      id: session.id,
      expiresAt: this.#lifetime.expiresAt(session, nowSeconds) * 1000,
      follows: session.follows,
      tokens: selectTokens(tokens, this.#options.requiredTokens),
    }
  }

  /** The session of a request with what has been renewed since its cookies were set. */
  resolve(found: CachedSession, cookies: Cookies): RequestSession {
    const { requiredTokens, renewals } = this.#options
    const session = renewals.newestSession(found.session)
    const isSessionRenewed = session !== found.session
    const cachedSession = isSessionRenewed
      ? { ...found, session, fields: createIdentityFields(session.identity) }
      : found
    const isCheckDue = this.#lifetime.isCheckDue(session, this.#nowSeconds())
    const needsTokens = requiredTokens.length > 0 || isSessionRenewed || isCheckDue
    const opened = needsTokens ? this.#openTokens(found, cookies) : NO_TOKENS
    const tokens = renewals.newestTokens(session.id, opened)
    return { cachedSession, tokens, isSessionRenewed, areTokensRenewed: tokens !== opened, isCheckDue }
  }

  /** Renews tokens that are about to expire, and an identity that is due; undefined when the request need not wait. */
  renew({ cachedSession, tokens, isCheckDue }: RequestSession): Promise<void> | undefined {
    const { renewals, signIn } = this.#options
    const { session } = cachedSession
    return renewals.renew(session, tokens, { signIn, isCheckDue, onRevoked: () => this.#end(session) })
  }

  /**
   * Whether only another sign-in can confirm the identity: there is nothing to ask the provider with, or it has failed for
   * as long as an identity is valid.
   */
  isOverdue({ cachedSession, tokens, isCheckDue }: RequestSession): boolean {
    const { renewals, recheckSeconds } = this.#options
    const { id } = cachedSession.session
    return isCheckDue && (tokens.refresh_token === undefined || renewals.hasFailedFor(id, recheckSeconds))
  }

  /** Whether the identity of a session that is used by a WebSocket alone was confirmed recently enough. */
  isFresh(session: Session): boolean {
    const { renewals, recheckSeconds } = this.#options
    const { checked } = renewals.newestSession(session)
    if (recheckSeconds === 0 || checked === undefined) return true
    return this.#nowSeconds() < checked + 2 * recheckSeconds
  }

  /** What of the tokens of a provider is stored with a session; undefined when nothing is. */
  selectTokens(grant: TokenGrant): StoredTokens | undefined {
    return addLogoutHint(this.#selectTokens(grant), grant.logoutHint)
  }

  #selectTokens(grant: TokenGrant): StoredTokens | undefined {
    const { requiredTokens, recheckSeconds } = this.#options
    const nowSeconds = this.#nowSeconds()
    if (recheckSeconds > 0) {
      const tokens = toStoredTokens(grant, withAccessToken(requiredTokens), nowSeconds)
      if (tokens.refresh_token !== undefined) return tokens
    }
    return requiredTokens.length > 0 ? toStoredTokens(grant, requiredTokens, nowSeconds) : undefined
  }

  /** The ID token that the provider of a session wants to see when it ends; undefined when none is stored. */
  logoutHint(found: CachedSession, cookies: Cookies): string | undefined {
    const { logout_hint, identity_token } = this.#openTokens(found, cookies)
    return logout_hint ?? identity_token
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
    const { accountId, clock, requiredTokens, recheckSeconds, locate, store, signIn } = this.#options
    const { provider, origin, follows } = context
    const nowSeconds = this.#nowSeconds()
    const user = toUserSubject(provider.url, identity.id)
    const isCheckable =
      recheckSeconds > 0 && tokens?.access_token !== undefined && tokens.refresh_token !== undefined
    const storedTokens = isCheckable ? withAccessToken(requiredTokens) : requiredTokens
    const session: Session = {
      id: newId(ApplicationSession.prefix, clock.now()),
      ...this.scope,
      identity,
      user,
      ...(follows !== undefined && { follows }),
      ...(storedTokens.length > 0 && { tokens: storedTokens }),
      ...(isCheckable && { checked: nowSeconds }),
      since: nowSeconds,
      seen: nowSeconds,
    }
    const lifetime = this.#lifetime
    const { revocationScope } = signIn
    store.recordSession(
      describeSession(exchange, session, {
        accountId,
        user,
        provider,
        origin,
        lifetime,
        locate,
        revocationScope,
      }),
    )
    return this.formatSession(exchange, session) + this.formatTokens(exchange, session, tokens)
  }

  /** The fields that set the cookies of tokens, or delete those of earlier ones when they are too large. */
  formatTokens(exchange: Exchange, session: Session, tokens: StoredTokens | undefined): string {
    const { log, scopeId, seal } = this.#options
    if (session.tokens === undefined && tokens === undefined) return ''
    const sealed = tokens && sealTokens(seal, session.id, tokens)
    if (sealed !== undefined)
      return this.#cookies.formatTokens(exchange, sealed, this.#cookieSeconds(session))
    log.warn({ scopeId, names: session.tokens }, 'tokens of a sign-in are too large for cookies')
    return this.#cookies.expireTokens(exchange)
  }

  /** A cookie outlives its session, so that the next session is known to follow it. */
  #cookieSeconds(session: Session): number | undefined {
    const endsAt = this.#lifetime.cookieEndsAt(session)
    return endsAt && Math.max(1, endsAt + ENDED_SESSION_SECONDS - this.#nowSeconds())
  }

  /** The fields that set the cookies of a session. */
  formatSession(exchange: Exchange, session: Session): string {
    const cookie = { id: session.id, sealed: encryptScoped(this.#options.seal, 'session', session) }
    return this.#cookies.formatSession(exchange, cookie, this.#cookieSeconds(session))
  }

  /** The field that replaces the cookie of a session, whose end stays the same. */
  formatActivity(exchange: Exchange, session: Session): string {
    const sealed = encryptScoped(this.#options.seal, 'session', session)
    return this.#cookies.renewSession(exchange, sealed, this.#cookieSeconds(session))
  }

  /** Reports a session that is in use, once a minute. */
  reportActivity(cachedSession: CachedSession, nowSeconds: number): void {
    const { accountId, store } = this.#options
    const { session } = cachedSession
    const interval = Math.floor(nowSeconds / ACTIVITY_SECONDS)
    if (interval <= cachedSession.reportedInterval) return
    cachedSession.reportedInterval = interval
    const expiresAt = this.#lifetime.expiresAt(session, nowSeconds + ACTIVITY_SECONDS) * 1000
    store.recordActivity({ account: accountId, id: session.id, lastActive: nowSeconds * 1000, expiresAt })
  }

  /** Revokes a session on all nodes. */
  async revoke(session: Session): Promise<void> {
    await revokeEverywhere(this.#options, this.#toRevocation(session))
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

  #toRevocation(session: Session): Revocation {
    return {
      scopeId: this.scope.scopeId,
      subject: session.id,
      latestStart: session.since * 1000,
      expiresAt: this.#lifetime.endsAt(session) * 1000,
    }
  }

  #nowSeconds(): number {
    return Math.floor(this.#options.clock.now() / 1000)
  }
}

/** An access token is also needed to ask the provider for the identity. */
function withAccessToken(names: readonly ProviderTokenName[]): readonly ProviderTokenName[] {
  return names.includes('access_token') ? names : [...names, 'access_token']
}
