import { hash, randomBytes } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { type Answer, page, pageFields, redirect } from '../answer.ts'
import type { Exchange } from '../exchange.ts'
import type { RequestStep } from '../module.ts'
import { refusal } from '../refusals.ts'
import { hideCookies, readCookie, setCookie } from './cookies.ts'
import type { Once } from './once.ts'
import type { Seal } from './seal.ts'
import {
  type Allowed,
  type Identity,
  isAllowed,
  type Pending,
  type SignIn,
  SignInRefused,
} from './sign-in.ts'

/** Settings shared by everything that makes visitors sign in. */
export interface SessionSettings {
  readonly options_passthrough: boolean
  readonly cookie_prefix: string
  readonly inactivity_timeout: number
  readonly maximum_duration: number
}

/** What gates share. */
export interface GateParts {
  readonly seal: Seal
  readonly once: Once
  readonly clock: Clock
}

export interface GateOptions extends GateParts {
  readonly placeId: string
  readonly settings: SessionSettings
  /** Anything that makes sessions of before void when it changes. */
  readonly version: string
  readonly signIn: SignIn
  readonly allowed: Allowed
}

/** Paths of a protected place that are ours and never the upstream's. */
export const CALLBACK_PATH = '/auth/callback'
const LOGOUT_PATH = '/auth/logout'
const DEFAULT_PREFIX = 'adit.'
const LOGIN_SECONDS = 600
// A session without limits of its own still ends some day.
const LONGEST_SECONDS = 30 * 24 * 60 * 60

/** A session as its cookie holds it. */
interface Session {
  readonly id: string
  readonly place: string
  readonly version: string
  readonly identity: Identity
  /** Wall-clock seconds. */
  readonly since: number
  readonly seen: number
}

/** What comes back through the provider: for whom and which sign-in. */
export interface State {
  readonly place: string
  /** `scheme://host:port` of the place. */
  readonly origin: string
  readonly id: string
}

/** A sign-in that was checked elsewhere, on its way back to its place. */
export interface Ticket {
  readonly id: string
  readonly place: string
  /** The sign-in it answers; empty when the provider began it by itself. */
  readonly pending: string
  readonly identity: Identity
  readonly returnTo: string
  readonly at: number
}

/** Lets visitors through that have signed in, and sends the others to do so. */
export function createGate(options: GateOptions): RequestStep {
  const { seal, once, clock, placeId, settings, signIn, allowed } = options
  const prefix = settings.cookie_prefix === '' ? DEFAULT_PREFIX : settings.cookie_prefix
  const cookie = `${prefix}session`
  const version = hash('sha256', options.version).slice(0, 16)
  const now = () => Math.floor(clock.now() / 1000)

  function sessionOf(exchange: Exchange): Session | undefined {
    const text = readCookie(exchange, cookie)
    const session = text === undefined ? undefined : seal.open<Session>('session', text)
    if (session === undefined || session.place !== placeId || session.version !== version) return undefined
    const at = now()
    const longest = settings.maximum_duration === 0 ? LONGEST_SECONDS : settings.maximum_duration
    if (at - session.since >= longest || once.has(`session ${session.id}`)) return undefined
    if (settings.inactivity_timeout > 0 && at - session.seen >= settings.inactivity_timeout) return undefined
    return session
  }

  function sessionCookie(session: Session, secure: boolean): string {
    const longest =
      settings.maximum_duration === 0 ? undefined : session.since + settings.maximum_duration - now()
    return setCookie(cookie, seal.close('session', session), {
      secure,
      ...(longest !== undefined && { seconds: Math.max(1, longest) }),
    })
  }

  function pass(exchange: Exchange, session: Session): undefined {
    hideCookies(exchange, prefix)
    const { identity } = session
    for (const [name, value] of identityFields(identity)) exchange.fields.add(name, value)
    exchange.note('oauth.decision', 'allow')
    exchange.note('oauth.user.id', identity.id)
    exchange.note('oauth.user.name', identity.name)
    if (settings.inactivity_timeout > 0 && now() > session.seen) {
      const fresh = sessionCookie({ ...session, seen: now() }, isSecure(exchange))
      exchange.whenAnswered(({ fields }) => fields.add('Set-Cookie', fresh.slice('Set-Cookie: '.length, -2)))
    }
    return undefined
  }

  async function begin(exchange: Exchange): Promise<Answer> {
    const { method, target } = exchange.head
    exchange.note('oauth.decision', 'block')
    exchange.note('oauth.app_client_id', signIn.label)
    // Only a page load can follow a redirect to a sign-in page and come back; anything else is told plainly.
    if ((method !== 'GET' && method !== 'HEAD') || exchange.upgrading) throw refusal('login_required')
    const pending: Pending = {
      id: randomBytes(16).toString('base64url'),
      returnTo: target.startsWith('/') && !target.startsWith('//') ? target : '/',
      at: clock.now(),
      memory: signIn.remember(),
    }
    const state: State = { place: placeId, origin: originOf(exchange), id: pending.id }
    const url = await signIn.begin(pending, seal.close('state', state))
    const held = setCookie(`${prefix}login.${pending.id}`, seal.close(`login ${placeId}`, pending), {
      path: CALLBACK_PATH,
      secure: isSecure(exchange),
      seconds: LOGIN_SECONDS,
    })
    return redirect(302, url, `${held}Cache-Control: no-store\r\n`)
  }

  function pendingOf(exchange: Exchange, id: string): Pending {
    const text = readCookie(exchange, `${prefix}login.${id}`)
    const pending = text === undefined ? undefined : seal.open<Pending>(`login ${placeId}`, text)
    if (pending === undefined || pending.id !== id || clock.now() - pending.at > LOGIN_SECONDS * 1000)
      throw new SignInRefused('this sign-in has expired or was begun in another browser; open the page again')
    if (!once.take(`login ${id}`, LOGIN_SECONDS * 1000))
      throw new SignInRefused('this sign-in was completed already; open the page again')
    return pending
  }

  function admit(exchange: Exchange, identity: Identity, returnTo: string, pendingId: string): Answer {
    if (!isAllowed(identity, allowed))
      throw new SignInRefused(`${identity.email || identity.name || identity.id} may not see this page`)
    const secure = isSecure(exchange)
    const at = now()
    const session = {
      id: randomBytes(16).toString('base64url'),
      place: placeId,
      version,
      identity,
      since: at,
      seen: at,
    }
    const done = setCookie(`${prefix}login.${pendingId}`, '', { path: CALLBACK_PATH, secure, seconds: 0 })
    return redirect(
      303,
      returnTo,
      `${sessionCookie(session, secure)}${pendingId === '' ? '' : done}Cache-Control: no-store\r\n`,
    )
  }

  async function callback(exchange: Exchange): Promise<Answer> {
    const query = new URL(exchange.head.target, 'http://place').searchParams
    const ticketText = query.get('ticket')
    if (ticketText !== null) {
      const ticket = seal.open<Ticket>('ticket', ticketText)
      if (ticket === undefined || ticket.place !== placeId || clock.now() - ticket.at > 60_000)
        throw new SignInRefused('this sign-in has expired; open the page again')
      if (!once.take(`ticket ${ticket.id}`, 120_000)) throw new SignInRefused('this sign-in was used already')
      const returnTo = ticket.pending === '' ? ticket.returnTo : pendingOf(exchange, ticket.pending).returnTo
      return admit(exchange, ticket.identity, returnTo, ticket.pending)
    }
    const state = seal.open<State>('state', query.get('state') ?? '')
    if (state === undefined || state.place !== placeId || state.origin !== originOf(exchange))
      throw new SignInRefused('this sign-in does not belong here; open the page again')
    const pending = pendingOf(exchange, state.id)
    return admit(exchange, await signIn.complete(query, pending), pending.returnTo, pending.id)
  }

  async function logout(exchange: Exchange): Promise<Answer> {
    const session = sessionOf(exchange)
    const gone = setCookie(cookie, '', { secure: isSecure(exchange), seconds: 0 })
    if (session !== undefined) once.take(`session ${session.id}`, LONGEST_SECONDS * 1000)
    const elsewhere = session && (await signIn.logoutUrl?.(session.identity))
    if (elsewhere !== undefined) return redirect(303, elsewhere, `${gone}Cache-Control: no-store\r\n`)
    return {
      status: 200,
      fields: `${gone}${pageFields}`,
      body: page('You are signed out.', 'Close this page, or open the site again to sign in.'),
    }
  }

  return (exchange) => {
    const { method, target } = exchange.head
    const path = target.split('?', 1)[0]
    if (path === CALLBACK_PATH) return callback(exchange).catch(denied)
    if (path === LOGOUT_PATH) return logout(exchange)
    if (method === 'OPTIONS' && settings.options_passthrough) {
      hideCookies(exchange, prefix)
      return undefined
    }
    const session = sessionOf(exchange)
    return session === undefined ? begin(exchange).catch(denied) : pass(exchange, session)
  }
}

function denied(error: unknown): never {
  throw error instanceof SignInRefused ? refusal('login_denied', error.message) : error
}

/** What the upstream is told of the visitor. Clients cannot forge these: the edge drops every field that begins with `adit-`. */
function identityFields({ id, name, email, groups, claims }: Identity): [string, string][] {
  const text = (value: string) =>
    Buffer.from(value, 'utf8')
      .toString('latin1')
      .replace(/[\r\n\0]/g, ' ')
  return [
    ['adit-auth-user-id', text(id)],
    ['adit-auth-user-name', text(name)],
    ['adit-auth-user-email', text(email)],
    ...(groups.length > 0 ? [['adit-auth-user-groups', text(groups.join(','))] as [string, string]] : []),
    ...(Object.keys(claims).length > 0
      ? [
          ['adit-auth-user-claims', Buffer.from(JSON.stringify(claims)).toString('base64url')] as [
            string,
            string,
          ],
        ]
      : []),
  ]
}

function isSecure({ connection }: Exchange): boolean {
  return connection.scheme === 'https'
}

/** The address the visitor used, as it came in. */
export function originOf({ connection, head }: Exchange): string {
  return `${connection.scheme === 'https' ? 'https' : 'http'}://${head.authority.toLowerCase()}`
}
