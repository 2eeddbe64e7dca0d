import { hash } from 'node:crypto'
import type { Clock } from '../../../base/values/clock.ts'
import { consumeOnce, type LoginStore, revokeEverywhere } from '../sessions/login-store.ts'
import type { ReplayGuard } from '../sessions/replay-guard.ts'
import { type Revocations, toProviderSessionSubject, toSubject } from '../sessions/revocations.ts'
import { type Identity, SignInError } from '../sign-in.ts'
import { type LogoutToken, MAX_LOGOUT_TOKEN_AGE_SECONDS } from './logout-token.ts'

/** What the sign-outs of one application at its provider need. */
export interface BackchannelLogoutOptions {
  readonly accountId: string
  readonly issuer: string
  readonly clientId: string
  readonly store: LoginStore
  readonly replayGuard: ReplayGuard
  readonly revocations: Revocations
  readonly clock: Clock
  readonly clockSkewSeconds: number
  /** How long a session lasts at most. */
  readonly maxSeconds: number
}

/**
 * Ends the sessions of people whom an OpenID provider has signed out. A provider knows one address for an application, which
 * several routes and endpoints of an account may use, so that a sign-out acts on all of these.
 */
export class BackchannelLogout {
  readonly scopeId: string
  readonly #options: BackchannelLogoutOptions

  constructor(options: BackchannelLogoutOptions) {
    const { accountId, issuer, clientId } = options
    this.#options = options
    this.scopeId = `client ${hash('sha256', JSON.stringify([accountId, issuer, clientId]))}`
  }

  /** Ends what a verified token names; each token is for one use on all nodes. */
  async end({ jti, sub, sid }: LogoutToken): Promise<void> {
    const { clock, clockSkewSeconds, maxSeconds } = this.#options
    const now = clock.now()
    const ttlMs = (MAX_LOGOUT_TOKEN_AGE_SECONDS + 2 * clockSkewSeconds) * 1000
    const id = `logout token ${hash('sha256', `${this.scopeId} ${jti}`)}`
    if (!(await consumeOnce(this.#options, id, ttlMs)))
      throw new SignInError('logout_invalid', { cause: new Error('it was used already') })
    // Section 2.7: with a session, the person's other sessions go on.
    const subject = sid === undefined ? toSubject(sub ?? '') : toProviderSessionSubject(sid)
    const revocation = {
      scopeId: this.scopeId,
      subject,
      latestStart: now,
      expiresAt: now + maxSeconds * 1000,
    }
    await revokeEverywhere(this.#options, revocation)
  }

  /** Whether the provider has signed a person out since then (wall-clock seconds). */
  hasEnded({ id, atProvider }: Identity, since: number): boolean {
    const { revocations } = this.#options
    const subjects = [toSubject(id), ...(atProvider?.session === undefined ? [] : [atProvider.session])]
    return subjects.some((subject) => revocations.isRevoked(this.scopeId, subject, since))
  }
}
