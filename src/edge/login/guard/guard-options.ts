import type { Logger } from '../../../base/process/log.ts'
import type { Clock } from '../../../base/values/clock.ts'
import type { ProviderTokenName } from '../../services/logins.ts'
import type { ScopeFailures } from '../provider/failure-log.ts'
import type { Seal } from '../seal.ts'
import type { LiveSessions } from '../sessions/live-sessions.ts'
import type { LoginStore } from '../sessions/login-store.ts'
import type { ReplayGuard } from '../sessions/replay-guard.ts'
import type { Revocations } from '../sessions/revocations.ts'
import type { SessionSettings, SharedSessions } from '../sessions/session.ts'
import type { SessionCookieCache } from '../sessions/session-cookie-cache.ts'
import type { Locate } from '../sessions/session-details.ts'
import type { SessionRenewals } from '../sessions/session-renewals.ts'
import type { Tickets } from '../sessions/tickets.ts'
import type { SignIn } from '../sign-in.ts'

/** What all guards share. */
export interface GuardDependencies {
  readonly seal: Seal
  readonly tickets: Tickets
  /** Sign-ins already completed on this node. */
  readonly replayGuard: ReplayGuard
  /** Completed sign-ins and sign-outs of all nodes. */
  readonly store: LoginStore
  /** Revoked sessions known to this node. */
  readonly revocations: Revocations
  readonly liveSessions: LiveSessions
  readonly cookieCache: SessionCookieCache
  readonly renewals: SessionRenewals
  readonly locate: Locate
  readonly clock: Clock
  readonly log: Logger
  /** How long a visitor waits for the provider. */
  readonly providerTimeoutMs: number
}

/** What one guard is made from. */
export interface GuardOptions extends GuardDependencies {
  readonly accountId: string
  readonly scopeId: string
  readonly settings: SessionSettings
  /** Undefined where a session is valid for one scope only. */
  readonly shared: SharedSessions | undefined
  /** Seconds after which the visitor must sign in again; 0 for never. */
  readonly recheckSeconds: number
  /** The tokens of the provider that are stored with a session. */
  readonly requiredTokens: readonly ProviderTokenName[]
  /** Sessions, states and tickets of another version are invalid. */
  readonly version: string
  readonly signIn: SignIn
  readonly failures: ScopeFailures
}
