import { randomBytes } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { fitIdentity, fitsCookie } from './identity-size.ts'
import { toLocation } from './return-to.ts'
import type { Seal } from './seal.ts'
import { type Identity, SignInRefused } from './sign-in.ts'

/** How long a visitor may take at the provider (P48). */
export const MAX_STATE_SECONDS = 600
const MAX_TICKET_AGE_MS = 60_000

/** The path of a protected route that takes tickets, and what marks a ticket on a route that does not have that path. */
export const CALLBACK_PATH = '/auth/callback'
export const CALLBACK_QUERY = 'adit-login'

/** The gate that began a sign-in, and the browser it was begun in. */
export interface SignInOrigin {
  readonly place: string
  /** Changes with the settings of the module. */
  readonly version: string
  /** `scheme://host[:port]` that the browser used. */
  readonly origin: string
  /** Where on it tickets are taken. */
  readonly path: string
  /** The sign-in; empty when the provider started it (SAML only). */
  readonly signInId: string
  /** Digest of a cookie that only the browser has in which the sign-in began; empty like `signInId`. */
  readonly browser: string
}

/** A sign-in under way. It travels sealed through the provider, as OAuth's `state` or SAML's `RelayState`. */
export interface SignInState extends SignInOrigin {
  /** Wall-clock milliseconds. */
  readonly at: number
  /** What the protocol has to remember, such as the PKCE verifier. */
  readonly memory: Readonly<Record<string, string>>
}

/** Who signed in, on the way from the login host to the gate that asked. */
export interface Ticket extends Omit<SignInOrigin, 'path'> {
  readonly id: string
  readonly identity: Identity
  /** Where to go on; empty when the browser's own cookie says so. */
  readonly returnTo: string
  readonly at: number
}

/**
 * How a sign-in travels: out to the provider as a sealed state, back to the login host, and from there to its gate as a
 * sealed ticket. Nothing that a provider issues ever reaches the host of a tenant.
 */
export interface Tickets {
  sealState(state: SignInState): string
  /** Undefined for what is no state of this platform. Throws `SignInRefused` once the state has expired. */
  openState(text: string): SignInState | undefined
  /** The address that takes the visitor and the identity back to the gate. */
  ticketUrl(origin: SignInOrigin, identity: Identity, returnTo?: string): string
  /** Throws `SignInRefused` for anything but a ticket of the last minute. */
  openTicket(text: string): Ticket
}

export function createTickets({ seal, clock }: { seal: Seal; clock: Clock }): Tickets {
  // A clock that was set back must not make anything live longer.
  const isOlderThan = (at: number, ms: number) => Math.abs(clock.now() - at) > ms

  return {
    sealState: (state) => seal.encrypt('state', state),

    openState(text) {
      const state = seal.decrypt<SignInState>('state', text)
      if (state !== undefined && isOlderThan(state.at, MAX_STATE_SECONDS * 1000))
        throw new SignInRefused('this sign-in has expired; open the page again')
      return state
    },

    ticketUrl({ place, version, origin, path, signInId, browser }, identity, returnTo = '') {
      if (!fitsCookie(identity)) throw new SignInRefused('the provider gave a name that is too long to keep')
      const ticket: Ticket = {
        id: randomBytes(16).toString('base64url'),
        place,
        version,
        origin,
        signInId,
        browser,
        identity: fitIdentity(identity),
        returnTo,
        at: clock.now(),
      }
      const marker = path === CALLBACK_PATH ? '' : `${CALLBACK_QUERY}&`
      return toLocation(origin, `${path}?${marker}ticket=${seal.encrypt('ticket', ticket)}`)
    },

    openTicket(text) {
      const ticket = seal.decrypt<Ticket>('ticket', text)
      if (ticket === undefined || isOlderThan(ticket.at, MAX_TICKET_AGE_MS))
        throw new SignInRefused('this sign-in has expired; open the page again')
      return ticket
    },
  }
}
