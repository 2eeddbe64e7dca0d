import { deleteOldest } from '../../../base/limits/delete-oldest.ts'
import type { Logger } from '../../../base/process/log.ts'
import { errorMessage } from '../../../base/text/error-message.ts'
import type { Clock } from '../../../base/values/clock.ts'
import { fitIdentity, fitsCookie } from '../identity-size.ts'
import { describeFailure } from '../provider/provider-errors.ts'
import { withTimeout } from '../provider/provider-fetch.ts'
import { addLogoutHint, type StoredTokens, type TokenGrant, toStoredTokens } from '../provider-tokens.ts'
import { GrantRevoked, isUnreachable, type SignIn, SignInError } from '../sign-in.ts'
import type { LoginStore } from './login-store.ts'
import type { Session } from './session.ts'

/** How long a request waits for a provider that is slow. */
export const RENEWAL_WAIT_MS = 5000
const MIN_RETRY_MS = 5000
const MAX_RETRY_MS = 300_000
/** How long other processes leave a renewal to the one that has begun it: until its result is in the browser. */
const CLAIM_MS = 300_000
/** How long a renewal waits for the database. */
const CLAIM_WAIT_MS = 1000
/** Sessions that were renewed here and whose browsers may still send the earlier cookies, or whose renewal has failed. */
const MAX_ENTRIES = 5000

/** What this process has renewed of a session. */
interface Renewal {
  /** The newest tokens; undefined until they have been renewed here. */
  tokens: StoredTokens | undefined
  /** With the newest identity; undefined until that has been confirmed here. */
  session: Session | undefined
  /** Settles when requests go on, whether or not the provider has responded. */
  pending: Promise<void> | undefined
  /** The time of issue of the tokens whose renewal was claimed for this process. */
  claimed: number | undefined
  /** Consecutive ones. */
  failures: number
  /** When the first of them was. Monotonic milliseconds. */
  failedAt: number
  retryAt: number
}

type RenewableTokens = StoredTokens & { readonly refresh_token: string }

interface RenewalContext {
  readonly signIn: SignIn
  /** Whether the provider has to confirm the identity too. */
  readonly isCheckDue: boolean
  /** The provider does not accept the refresh token any more, or the identity is not valid. */
  onRevoked(): void
}

/**
 * Renews the tokens that providers gave for visitors (decision 262), and their identity (decision 263). Providers that
 * rotate refresh tokens accept each once, and may end the session of a visitor that sends one twice. So the requests of
 * a session share a renewal, those that still have the earlier cookies get its result, and only one process begins it.
 */
export class SessionRenewals {
  readonly #clock: Clock
  readonly #log: Logger
  readonly #store: LoginStore
  readonly #providerTimeoutMs: number
  readonly #waitMs: number
  readonly #renewals = new Map<string, Renewal>()

  constructor(options: {
    readonly clock: Clock
    readonly log: Logger
    readonly store: LoginStore
    readonly providerTimeoutMs: number
    readonly waitMs: number
  }) {
    this.#clock = options.clock
    this.#log = options.log
    this.#store = options.store
    this.#providerTimeoutMs = options.providerTimeoutMs
    this.#waitMs = options.waitMs
  }

  /** The tokens of a request, or those that have replaced them. */
  newestTokens(sessionId: string, tokens: StoredTokens): StoredTokens {
    if (tokens.issued_at === undefined) return tokens
    const renewed = this.#renewals.get(sessionId)?.tokens
    return renewed !== undefined && (renewed.issued_at ?? 0) > tokens.issued_at ? renewed : tokens
  }

  /** The session of a request, with the identity that has replaced its own. */
  newestSession(session: Session): Session {
    if (session.checked === undefined) return session
    const renewed = this.#renewals.get(session.id)?.session
    return renewed !== undefined && (renewed.checked ?? 0) > session.checked
      ? { ...renewed, seen: session.seen }
      : session
  }

  /** Whether the provider has failed for this long to renew a session. */
  hasFailedFor(sessionId: string, seconds: number): boolean {
    const renewal = this.#renewals.get(sessionId)
    return (
      renewal !== undefined &&
      renewal.failures > 0 &&
      this.#clock.monotonic() - renewal.failedAt >= seconds * 1000
    )
  }

  /** Renews what is due; the promise settles when the request can go on. Undefined when nothing is to wait for. */
  renew(session: Session, tokens: StoredTokens, context: RenewalContext): Promise<void> | undefined {
    const { refresh_token: refreshToken, renew_at: renewAt = Number.POSITIVE_INFINITY } = tokens
    if (refreshToken === undefined) return undefined
    if (!context.isCheckDue && this.#nowSeconds() < renewAt) return undefined
    const renewal = this.#renewals.get(session.id) ?? createRenewal()
    if (renewal.pending === undefined && this.#clock.monotonic() < renewal.retryAt) return undefined
    renewal.pending ??= this.#start(renewal, session, { ...tokens, refresh_token: refreshToken }, context)
    // A provider that failed before is asked again without a request that waits for it.
    return renewal.failures > 0 ? undefined : renewal.pending
  }

  #start(
    renewal: Renewal,
    session: Session,
    tokens: RenewableTokens,
    context: RenewalContext,
  ): Promise<void> {
    // Deleting first moves a known session to the young end.
    this.#renewals.delete(session.id)
    if (this.#renewals.size >= MAX_ENTRIES) deleteOldest(this.#renewals)
    this.#renewals.set(session.id, renewal)
    const work = this.#run(renewal, session, tokens, context).finally(() => {
      renewal.pending = undefined
    })
    return withTimeout(work, this.#waitMs).catch(() => undefined)
  }

  async #run(
    renewal: Renewal,
    session: Session,
    tokens: RenewableTokens,
    { signIn, isCheckDue, onRevoked }: RenewalContext,
  ): Promise<void> {
    const { scopeId } = session
    if (!(await this.#claim(renewal, session.id, tokens.issued_at ?? 0))) {
      // The result is on its way to the browser. Until it arrives, requests go on with the tokens that they have.
      this.#postpone(renewal, MIN_RETRY_MS)
      return
    }
    try {
      const renewing = signIn.renew(tokens.refresh_token, session.identity)
      const grant = await withTimeout(renewing, this.#providerTimeoutMs)
      // A provider may keep the refresh token, and leave out the ID token.
      const { issued_at: _, renew_at: __, logout_hint, ...earlier } = tokens
      const renewed = toStoredTokens(
        { lifetimes: grant.lifetimes, tokens: { ...earlier, ...grant.tokens } },
        session.tokens ?? [],
        // Later than those before, also by the clock of another node.
        Math.max(this.#nowSeconds(), (tokens.issued_at ?? 0) + 1),
      )
      renewal.tokens = addLogoutHint(renewed, logout_hint)
      if (isCheckDue) renewal.session = await this.#confirm(session, grant, signIn)
      renewal.failures = 0
    } catch (error) {
      if (error instanceof GrantRevoked) {
        onRevoked()
        return
      }
      const details =
        error instanceof SignInError
          ? { failure: error.failure, ...describeFailure(error) }
          : { reason: errorMessage(error) }
      if (renewal.failures === 0)
        this.#log.warn({ scopeId, provider: signIn.provider, ...details }, 'session not renewed')
      this.#postpone(renewal, Math.min(MIN_RETRY_MS * 2 ** renewal.failures, MAX_RETRY_MS))
      if (renewal.failures === 0) renewal.failedAt = this.#clock.monotonic()
      renewal.failures++
    }
  }

  /** The session with the identity that the provider confirms now. */
  async #confirm(session: Session, grant: TokenGrant, signIn: SignIn): Promise<Session> {
    const confirming = signIn.identify(grant, session.identity)
    const identity = await withTimeout(confirming, this.#providerTimeoutMs).catch((error: unknown) => {
      if (error instanceof SignInError && !isUnreachable(error))
        throw new GrantRevoked(error.message, { cause: error })
      throw error
    })
    if (!fitsCookie(identity)) throw new GrantRevoked('the identity is too large to store')
    return { ...session, identity: fitIdentity(identity), checked: this.#nowSeconds(), follows: 'recheck' }
  }

  /** Whether this process is the one that renews these tokens. */
  async #claim(renewal: Renewal, sessionId: string, issuedAt: number): Promise<boolean> {
    if (renewal.claimed === issuedAt) return true
    try {
      const id = `renewal ${sessionId} ${issuedAt}`
      const claiming = this.#store.consume(id, this.#clock.now() + CLAIM_MS)
      if (!(await withTimeout(claiming, CLAIM_WAIT_MS))) return false
    } catch {
      // Without the database two processes may renew at once, which most providers accept.
    }
    renewal.claimed = issuedAt
    return true
  }

  #postpone(renewal: Renewal, ms: number): void {
    renewal.retryAt = this.#clock.monotonic() + ms
  }

  #nowSeconds(): number {
    return Math.floor(this.#clock.now() / 1000)
  }
}

function createRenewal(): Renewal {
  return {
    tokens: undefined,
    session: undefined,
    pending: undefined,
    claimed: undefined,
    failures: 0,
    failedAt: 0,
    retryAt: 0,
  }
}
