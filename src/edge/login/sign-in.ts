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

/** A sign-in that has begun: kept sealed in the visitor's browser until it comes back. */
export interface Pending {
  readonly id: string
  /** Path and query to go on with. */
  readonly returnTo: string
  /** Wall-clock milliseconds. */
  readonly at: number
  /** What the protocol has to remember, such as the PKCE verifier. */
  readonly memory: Readonly<Record<string, string>>
}

/** One way to sign in: where to send a visitor, and what to make of the answer. */
export interface SignIn {
  /** A label for events, such as the client id. */
  readonly label: string
  /** What `Pending.memory` is to hold. */
  remember(): Record<string, string>
  /** The provider's page. `state` comes back with the visitor. */
  begin(pending: Pending, state: string): Promise<string>
  /** The identity behind a callback; throws `SignInRefused` with a sentence for the visitor. */
  complete(query: URLSearchParams, pending: Pending): Promise<Identity>
  /** Where else to go for a complete sign-out, if the provider has such a place. */
  logoutUrl?(identity: Identity): Promise<string | undefined>
  /** Whether the provider has signed this person out since, in wall-clock seconds. */
  signedOutSince?(identity: Identity, since: number): boolean
}

/** A sign-in that did not succeed; the message may be shown to the visitor. */
export class SignInRefused extends Error {
  override name = 'SignInRefused'
}

/** Whom a place lets in after they signed in. */
export interface Allowed {
  readonly emails: readonly string[]
  readonly domains: readonly string[]
}

/** Whether an identity may pass; empty lists let everyone pass who could sign in. */
export function isAllowed({ email }: Identity, { emails, domains }: Allowed): boolean {
  if (emails.length === 0 && domains.length === 0) return true
  const address = email.toLowerCase()
  const domain = address.slice(address.lastIndexOf('@') + 1)
  return address.includes('@') && (emails.includes(address) || domains.includes(domain))
}
