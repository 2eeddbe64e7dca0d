import { randomBytes } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { CALLBACK_PATH, CALLBACK_QUERY } from '../sign-in-target.ts'
import { fitIdentity, fitsCookie } from './identity-size.ts'
import { openTokens, type StoredTokens, sealTokens } from './provider-tokens.ts'
import { toLocation } from './return-to.ts'
import { decryptScoped, encryptScoped } from './scoped-seal.ts'
import type { Seal } from './seal.ts'
import { type Identity, SignInError } from './sign-in.ts'

/** How long a visitor may take at the provider (P48). */
export const MAX_STATE_SECONDS = 600
const MAX_TICKET_AGE_MS = 60_000

/** The gate that started a sign-in, and the browser it was started in. */
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
}

/** A verified identity on its way from the login host to the gate. */
export interface Ticket extends Omit<SignInOrigin, 'path'> {
  readonly id: string
  readonly identity: Identity
  /** Path to return to; empty when the browser's own cookie holds it. */
  readonly returnTo: string
  readonly at: number
  /** What the provider gave; undefined when that is not needed or too large. */
  readonly tokens: StoredTokens | undefined
}

/**
 * Carries a sign-in: to the provider as a sealed state, back to the login host, and from there to the gate as a sealed
 * ticket. Codes and assertions of a provider never reach the host of a tenant.
 */
export interface Tickets {
  sealState(state: SignInState): string
  /** Undefined for text that is no state of this platform. Throws `SignInError` once the state has expired. */
  openState(text: string): SignInState | undefined
  /** The URL that returns the visitor to the gate with a ticket, and with tokens unless they are too large. */
  ticketUrl(
    origin: SignInOrigin,
    identity: Identity,
    options?: { readonly returnTo?: string; readonly tokens?: StoredTokens },
  ): string
  /** Throws `SignInError` for anything but a ticket of the last minute. */
  openTicket(query: URLSearchParams): Ticket
}

export function createTickets({ seal, clock }: { seal: Seal; clock: Clock }): Tickets {
  // Setting the clock back must not extend any lifetime.
  const isOlderThan = (issuedAt: number, ms: number) => Math.abs(clock.now() - issuedAt) > ms

  return {
    sealState: (state) => encryptScoped(seal, 'state', state),

    openState(text) {
      const state = decryptScoped<SignInState>(seal, 'state', text)
      if (state !== undefined && isOlderThan(state.at, MAX_STATE_SECONDS * 1000))
        throw new SignInError('this sign-in has expired; open the page again')
      return state
    },

    ticketUrl(
      { scopeId, version, origin, path, signInId, browser },
      identity,
      { returnTo = '', tokens } = {},
    ) {
      if (!fitsCookie(identity))
        throw new SignInError('the provider sent an identity that is too large to store')
      const ticket: Omit<Ticket, 'tokens'> = {
        id: randomBytes(16).toString('base64url'),
        scopeId,
        version,
        origin,
        signInId,
        browser,
        identity: fitIdentity(identity),
        returnTo,
        at: clock.now(),
      }
      const marker = path === CALLBACK_PATH ? '' : `${CALLBACK_QUERY}&`
      const sealedTokens = tokens && sealTokens(seal, ticket.id, tokens)
      const suffix = sealedTokens === undefined ? '' : `&tokens=${sealedTokens}`
      return toLocation(origin, `${path}?${marker}ticket=${encryptScoped(seal, 'ticket', ticket)}${suffix}`)
    },

    openTicket(query) {
      const ticket = decryptScoped<Omit<Ticket, 'tokens'>>(seal, 'ticket', query.get('ticket') ?? '')
      if (ticket === undefined || isOlderThan(ticket.at, MAX_TICKET_AGE_MS))
        throw new SignInError('this sign-in has expired; open the page again')
      return { ...ticket, tokens: openTokens(seal, ticket.id, query.get('tokens') ?? '') }
    },
  }
}
