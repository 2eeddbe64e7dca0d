import type { UserProfile } from '../../resources/index.ts'
import { edgeError } from '../errors.ts'
import type { TokenGrant } from './provider-tokens.ts'

/** The identity of a signed-in visitor. */
export interface Identity {
  /** The provider's permanent id of the person. */
  readonly id: string
  readonly name: string
  readonly email: string
  readonly groups: readonly string[]
  /** Further claims of the provider, for the upstream. */
  readonly claims: Readonly<Record<string, unknown>>
  /** What the provider needs again at sign-out. */
  readonly atProvider?: Readonly<Record<string, string>>
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

/** One sign-in protocol with its settings. */
export interface SignIn {
  /** A label for events, such as the client id. */
  readonly label: string
  /** The identity provider as lists of users name it. */
  describeProvider(): Promise<UserProfile['identity_provider']>
  /** Creates the content of `SignInMemory.memory`. */
  createMemory(): Record<string, string>
  /** The URL of the provider's sign-in page. `state` returns with the visitor. */
  begin(memory: SignInMemory, state: string): Promise<string>
  /** Verifies a response and returns who signed in; throws `SignInError` with a message for the visitor. */
  complete(response: ProviderResponse, memory: SignInMemory): Promise<CompletedSignIn>
  /**
   * Renews tokens of this person; throws `GrantRevoked` when the provider does not accept the refresh token any more, and
   * `SignInError` when it cannot be known.
   */
  renew(refreshToken: string, identity: Identity): Promise<TokenGrant>
  /**
   * Asks the provider who this person is now; throws `SignInError` when that is not allowed any more, or only another
   * sign-in can tell.
   */
  identify(grant: TokenGrant, identity: Identity): Promise<Identity>
  /** Where to continue for a sign-out at the provider, if it supports that. */
  logoutUrl?(identity: Identity): Promise<string | undefined>
  /** Whether the provider has signed this person out since then (wall-clock seconds). */
  signedOutSince?(identity: Identity, since: number): boolean
}

/** A failed sign-in; the message may be shown to the visitor. */
export class SignInError extends Error {
  override name = 'SignInError'
}

/** Reads what `createMemory` remembered; a sign-in that another protocol started has something else. */
export function recall({ memory }: SignInMemory, name: string): string {
  const value = memory[name]
  if (value === undefined) throw new SignInError('the settings of this page have changed; try again')
  return value
}

/** The provider is unreachable; the message may be shown to the visitor. */
export class ProviderUnavailable extends SignInError {
  override name = 'ProviderUnavailable'

  constructor(options?: ErrorOptions) {
    super('the identity provider cannot be reached right now; try again in a moment', options)
  }
}

/** The provider has withdrawn what it gave for a visitor, who has to sign in again. */
export class GrantRevoked extends SignInError {
  override name = 'GrantRevoked'
}

/** Distinguishes an unreachable provider from an invalid response, however deeply the library wraps the cause. */
export function throwSignInError(error: unknown, message: string): never {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof ProviderUnavailable) throw cause
  throw new SignInError(message, { cause: error })
}

/** Converts a failed sign-in to the `EdgeError` shown to the visitor. */
export function throwLoginError(error: unknown): never {
  if (error instanceof ProviderUnavailable) throw edgeError('login_provider_unavailable')
  throw error instanceof SignInError ? edgeError('login_denied', error.message) : error
}
