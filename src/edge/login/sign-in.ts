import type { UserProfile } from '../../resources/index.ts'
import { type FailureName, failureKinds } from './failures.ts'
import type { TokenGrant } from './provider-tokens.ts'

/** The identity of a signed-in visitor. */
export interface Identity {
  /** The provider's permanent id of the person. */
  readonly id: string
  readonly name: string
  readonly email: string
  readonly groups: readonly string[]
  /** The person is in more groups than a cookie has room for. */
  readonly areGroupsCut?: true
  /** Further claims of the provider, for the upstream. */
  readonly claims: Readonly<Record<string, unknown>>
  /** What the provider needs again at sign-out. */
  readonly atProvider?: Readonly<Record<string, string>>
}

/** What a person knows themselves by. */
export function labelOf({ email, name, id }: Identity): string {
  return email || name || id
}

/** A verified response of a provider. */
export interface CompletedSignIn {
  readonly identity: Identity
  readonly grant: TokenGrant
}

/** What a protocol must remember until the visitor returns. */
export interface SignInMemory {
  readonly signInId: string
  /** Such as the PKCE verifier. */
  readonly memory: Readonly<Record<string, string>>
}

/** A provider response, received on the login host through the visitor's browser. */
export interface ProviderResponse {
  /** The path on the login host. */
  readonly path: string
  /** Each parameter occurs once. */
  readonly query: URLSearchParams
  /** The `state` parameter, which the login host has opened. */
  readonly state: string
}

/** A sign-out that goes on at the provider. */
export interface SignOut {
  /** The ID token of the session, where it is stored. */
  readonly idToken: string | undefined
  /** Returns with the visitor. */
  readonly state: string
}

/** One sign-in protocol with its settings. */
export interface SignIn {
  /** A label for events, such as the client id. */
  readonly label: string
  /** The issuer, entity id or name of the provider, for its owner. */
  readonly provider: string
  /** The identity provider as lists of users name it. */
  describeProvider(): Promise<UserProfile['identity_provider']>
  /** Creates the content of `SignInMemory.memory`. */
  createMemory(): Record<string, string>
  /**
   * The URL of the provider's sign-in page. `state` returns with the visitor, who may want to use another account than the
   * one that the provider would take.
   */
  begin(memory: SignInMemory, state: string, switchesAccount?: boolean): Promise<string>
  /** Verifies a response and returns who signed in; throws `SignInError`. */
  complete(response: ProviderResponse, memory: SignInMemory): Promise<CompletedSignIn>
  /**
   * Renews tokens of this person; throws `GrantRevoked` when the provider does not accept the refresh token any more, and
   * `SignInError` when it cannot be known.
   */
  renew(refreshToken: string, identity: Identity): Promise<TokenGrant>
  /**
   * Asks the provider who this person is now; throws `SignInError` when that is not allowed any more, and `GrantRevoked`
   * when only another sign-in can tell.
   */
  identify(grant: TokenGrant, identity: Identity): Promise<Identity>
  /** Where to continue for a sign-out at the provider, if it supports that. */
  logoutUrl?(identity: Identity, signOut: SignOut): Promise<string | undefined>
  /** Where revocations by the provider act; undefined where that is the scope of the guard. */
  readonly revocationScope?: string
  /** Ends the sessions that a logout token of the provider names; throws `SignInError`. */
  endSessions?(logoutToken: string): Promise<void>
  /** Whether the provider has signed this person out since then (wall-clock seconds). */
  signedOutSince?(identity: Identity, since: number): boolean
}

/** Why a sign-in failed. What the provider said about it is in its cause, and never reaches the visitor. */
export class SignInError extends Error {
  override name = 'SignInError'
  readonly failure: FailureName
  /** Who may not enter. */
  readonly person: string

  constructor(failure: FailureName, { person = '', cause }: { person?: string; cause?: unknown } = {}) {
    super(failureKinds[failure].cause, { cause })
    this.failure = failure
    this.person = person
  }
}

/** The provider has withdrawn what it gave for a visitor, who has to sign in again. */
export class GrantRevoked extends Error {
  override name = 'GrantRevoked'
}

/** Whether the provider could not be asked, so that nothing is known about the visitor. */
export function isUnreachable(error: unknown): boolean {
  return (
    error instanceof SignInError &&
    ['provider_down', 'provider_untrusted', 'provider_forbidden'].includes(error.failure)
  )
}

/** Reads what `createMemory` remembered; a sign-in that another protocol started has something else. */
export function recall({ memory }: SignInMemory, name: string): string {
  const value = memory[name]
  if (value === undefined) throw new SignInError('settings_changed')
  return value
}
