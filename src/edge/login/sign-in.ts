import { refusal } from '../errors.ts'

/** Who a visitor turned out to be. */
export interface Identity {
  /** What the provider calls the person, for ever. */
  readonly id: string
  readonly name: string
  readonly email: string
  readonly groups: readonly string[]
  /** What else the provider said, for the upstream. */
  readonly claims: Readonly<Record<string, unknown>>
  /** What the provider wants to hear again when the person signs out. */
  readonly atProvider?: Readonly<Record<string, string>>
}

/** What a protocol has to know again when the visitor comes back. */
export interface SignInMemory {
  readonly signInId: string
  /** Such as the PKCE verifier. */
  readonly memory: Readonly<Record<string, string>>
}

/** An answer that the provider sent through the visitor's browser to the login host. */
export interface ProviderResponse {
  /** Where on the login host it arrived. */
  readonly path: string
  /** Each parameter once. */
  readonly query: URLSearchParams
}

/** One way to sign in: where to send a visitor, and what to make of the answer. */
export interface SignIn {
  /** A label for events, such as the client id. */
  readonly label: string
  /** What `SignInMemory.memory` is to hold. */
  createMemory(): Record<string, string>
  /** The provider's page. `state` comes back with the visitor. */
  begin(memory: SignInMemory, state: string): Promise<string>
  /** The identity behind an answer; throws `SignInRefused` with a sentence for the visitor. */
  complete(response: ProviderResponse, memory: SignInMemory): Promise<Identity>
  /** Where else to go for a complete sign-out, if the provider has such a place. */
  logoutUrl?(identity: Identity): Promise<string | undefined>
  /** Whether the provider has signed this person out since, in wall-clock seconds. */
  signedOutSince?(identity: Identity, since: number): boolean
}

/** A sign-in that did not succeed; the message may be shown to the visitor. */
export class SignInRefused extends Error {
  override name = 'SignInError'
}

/** The provider could not be asked; the message may be shown to the visitor. */
export class ProviderUnavailable extends SignInRefused {
  override name = 'ProviderUnavailable'

  constructor(options?: ErrorOptions) {
    super('the identity provider cannot be reached right now; try again in a moment', options)
  }
}

/** A provider that cannot be reached is told apart from one that answers wrongly, however deep the library wraps that. */
export function throwSignInError(error: unknown, message: string): never {
  for (let cause = error; cause instanceof Error; cause = cause.cause)
    if (cause instanceof ProviderUnavailable) throw cause
  throw new SignInRefused(message, { cause: error })
}

/** Shows the visitor why a sign-in did not succeed. */
export function throwLoginError(error: unknown): never {
  if (error instanceof ProviderUnavailable) throw refusal('login_provider_unavailable')
  throw error instanceof SignInRefused ? refusal('login_denied', error.message) : error
}

/** Whom a place lets in after they signed in. */
export interface AllowedIdentities {
  readonly emails: readonly string[]
  readonly domains: readonly string[]
}

/** Whether an identity may pass; empty lists let everyone pass who could sign in. */
export function isAllowed({ email }: Identity, { emails, domains }: AllowedIdentities): boolean {
  if (emails.length === 0 && domains.length === 0) return true
  const address = email.toLowerCase()
  const domain = address.slice(address.lastIndexOf('@') + 1)
  return address.includes('@') && (emails.includes(address) || domains.includes(domain))
}
