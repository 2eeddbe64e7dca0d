import { randomBytes } from 'node:crypto'
import type { Logger } from '../../../base/process/log.ts'
import type { Clock } from '../../../base/values/clock.ts'
import { MAX_TARGET_BYTES } from '../../message/request-head.ts'
import { CALLBACK_PATH, CALLBACK_QUERY } from '../../sign-in-target.ts'
import { fitIdentity, fitsCookie, MAX_IDENTITY_BYTES } from '../identity-size.ts'
import { dropLogoutHint, openTokens, type StoredTokens, sealTokens } from '../provider-tokens.ts'
import { toLocation } from '../return-to.ts'
import { decryptScoped, encryptScoped } from '../scoped-seal.ts'
import type { Seal } from '../seal.ts'
import { type Identity, SignInError } from '../sign-in.ts'

/** How long a visitor may take at the provider (P48). */
export const MAX_STATE_SECONDS = 600
const MAX_TICKET_AGE_MS = 60_000
/** Every edge and most proxies in front of it accept a URL of this length. */
const MAX_URL_LENGTH = MAX_TARGET_BYTES - 1024
/** A page with a longer address is returned to only as long as the browser's own cookie lasts. */
const MAX_RETURN_LENGTH = 512

/** The guard that started a sign-in, and the browser it was started in. */
export interface SignInOrigin {
  readonly scopeId: string
  /** Changes with the settings of the module. */
  readonly version: string
  /** `scheme://host[:port]` that the browser used. */
  readonly origin: string
  /** The path that redeems tickets. */
  readonly path: string
  /** Empty when the sign-in is IdP-initiated (SAML only). */
  readonly signInId: string
  /** Digest of a cookie that only the browser that started the sign-in has; empty when IdP-initiated. */
  readonly browser: string
}

/** A pending sign-in. It passes through the provider sealed, as OAuth `state` or SAML `RelayState`. */
export interface SignInState extends SignInOrigin {
  /** Wall-clock milliseconds. */
  readonly at: number
  /** What the protocol must remember, such as the PKCE verifier. */
  readonly memory: Readonly<Record<string, string>>
  /** The page to lead back to when the sign-in cannot go on; sign-ins of earlier releases have none. */
  readonly returnTo?: string
}

/** A sign-out that the provider completes. It passes through the provider sealed, as OpenID `state`. */
export type SignOutState = Pick<SignInOrigin, 'scopeId' | 'origin' | 'path'>

/** A verified identity on its way from the login host to the guard. */
export interface Ticket extends Omit<SignInOrigin, 'path'> {
  readonly id: string
  readonly identity: Identity
  /** Path to return to, unless the browser's own cookie holds it. */
  readonly returnTo: string
  readonly at: number
  /** What the provider gave; undefined when that is not needed or too large. */
  readonly tokens: StoredTokens | undefined
}

/**
 * Carries a sign-in: to the provider as a sealed state, back to the login host, and from there to the guard as a sealed
 * ticket. Codes and assertions of a provider never reach the host of a tenant.
 */
export class Tickets {
  readonly #seal: Seal
  readonly #clock: Clock
  readonly #log: Logger

  constructor({ seal, clock, log }: { readonly seal: Seal; readonly clock: Clock; readonly log: Logger }) {
    this.#seal = seal
    this.#clock = clock
    this.#log = log
  }

  sealState({ returnTo, ...state }: SignInState): string {
    return encryptScoped(this.#seal, 'state', {
      ...state,
      ...(returnTo !== undefined && returnTo.length <= MAX_RETURN_LENGTH && { returnTo }),
    })
  }

  /** Undefined for text that is no state of this platform. */
  openState(text: string): SignInState | undefined {
    return decryptScoped<SignInState>(this.#seal, 'state', text)
  }

  sealSignOut(state: SignOutState): string {
    return encryptScoped(this.#seal, 'sign-out', state)
  }

  /** Undefined for text that is no sign-out of this platform. */
  openSignOut(text: string): SignOutState | undefined {
    return decryptScoped<SignOutState>(this.#seal, 'sign-out', text)
  }

  /** The URL that returns the visitor to the guard with a ticket, and with tokens unless they are too large. */
  ticketUrl(
    { scopeId, version, origin, path, signInId, browser }: SignInOrigin,
    identity: Identity,
    { returnTo = '', tokens }: { readonly returnTo?: string; readonly tokens?: StoredTokens } = {},
  ): string {
    if (!fitsCookie(identity)) throw new SignInError('identity_too_large')
    const ticket: Omit<Ticket, 'tokens' | 'identity'> = {
      id: randomBytes(16).toString('base64url'),
      scopeId,
      version,
      origin,
      signInId,
      browser,
      returnTo,
      at: this.#clock.now(),
    }
    const marker = path === CALLBACK_PATH ? '' : `${CALLBACK_QUERY}&`
    const format = (maxIdentityBytes: number, sealedTokens: string | undefined) => {
      const fitted = { ...ticket, identity: fitIdentity(identity, maxIdentityBytes) }
      const suffix = sealedTokens === undefined ? '' : `&tokens=${sealedTokens}`
      const query = `${marker}ticket=${encryptScoped(this.#seal, 'ticket', fitted)}${suffix}`
      return toLocation(origin, `${path}?${query}`)
    }
    const complete = format(MAX_IDENTITY_BYTES, tokens && sealTokens(this.#seal, ticket.id, tokens))
    if (complete.length <= MAX_URL_LENGTH) return complete
    const needed = tokens && dropLogoutHint(tokens)
    const sealedTokens = needed && sealTokens(this.#seal, ticket.id, needed)
    const url = format(MAX_IDENTITY_BYTES, sealedTokens)
    if (url.length <= MAX_URL_LENGTH) return url
    // Tokens that a policy needs are worth more than groups that it has checked already.
    const excess = Math.ceil(((url.length - MAX_URL_LENGTH) * 3) / 4)
    const shorter = format(MAX_IDENTITY_BYTES - excess, sealedTokens)
    const fits = shorter.length <= MAX_URL_LENGTH
    const dropped = fits ? ['claims', 'groups'] : ['tokens']
    this.#log.warn({ scopeId, dropped }, 'a sign-in is too large for a URL')
    return fits ? shorter : format(MAX_IDENTITY_BYTES, undefined)
  }

  /** Undefined for text that is no ticket of this platform. */
  openTicket(query: URLSearchParams): Ticket | undefined {
    const ticket = decryptScoped<Omit<Ticket, 'tokens'>>(this.#seal, 'ticket', query.get('ticket') ?? '')
    return ticket && { ...ticket, tokens: openTokens(this.#seal, ticket.id, query.get('tokens') ?? '') }
  }

  /** Whether the visitor took too long. Setting the clock back must not extend any lifetime. */
  isExpired(passed: SignInState | Ticket): boolean {
    const maxAgeMs = 'memory' in passed ? MAX_STATE_SECONDS * 1000 : MAX_TICKET_AGE_MS
    return Math.abs(this.#clock.now() - passed.at) > maxAgeMs
  }
}
