import { hash, randomBytes } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { type Answer, page, pageFields, redirect } from '../answer.ts'
import type { Exchange } from '../exchange.ts'
import type { RequestStep } from '../module.ts'
import { refusal } from '../refusals.ts'
import { Cookies, setCookie } from './cookies.ts'
import type { Endings } from './endings.ts'
import { fitIdentity, isKeepable } from './identity-size.ts'
import { type LoginLedger, takeOnce } from './ledger.ts'
import type { Once } from './once.ts'
import type { OpenSessions } from './open-sessions.ts'
import type { OpenedSession, OpenedSessions } from './opened-sessions.ts'
import { locationAt, returnPath } from './return-to.ts'
import type { Seal } from './seal.ts'
import { lifetimeOf, type Session, type SessionSettings } from './session.ts'
import {
  type Allowed,
  type Identity,
  isAllowed,
  type Pending,
  type SignIn,
  SignInRefused,
} from './sign-in.ts'

/** What gates share. */
export interface GateParts {
  readonly seal: Seal
  /** Sign-ins that were used up on this node. */
  readonly once: Once
  /** The same, and sign-outs, for all nodes. */
  readonly ledger: LoginLedger
  /** Sessions that are over, as far as this node has heard. */
  readonly endings: Endings
  readonly open: OpenSessions
  readonly opened: OpenedSessions
  readonly clock: Clock
}

export interface GateOptions extends GateParts {
  readonly placeId: string
  readonly settings: SessionSettings
  /** Seconds after which the provider is asked anew; 0 for never. */
  readonly checkEvery: number
  /** Anything that makes sessions of before void when it changes. */
  readonly version: string
  readonly signIn: SignIn
  readonly allowed: Allowed
}

/** Paths of a protected place that are ours and never the upstream's. */
export const CALLBACK_PATH = '/auth/callback'
const LOGOUT_PATH = '/auth/logout'
/** Marks the same two on a page of a route that does not have those paths. */
const CALLBACK_MARK = 'adit-login'
const LOGOUT_MARK = 'adit-logout'
const DEFAULT_PREFIX = 'adit.'
const LOGIN_SECONDS = 600
/** What browsers load pages into; scripts and images cannot sign in, and each try would leave a cookie. */
const PAGES = new Set(['document', 'frame', 'iframe', 'embed', 'object'])

/** What comes back through the provider: for whom and which sign-in. */
export interface State {
  readonly place: string
  /** `scheme://host:port` of the place. */
  readonly origin: string
  /** Where on it answers are taken. */
  readonly path: string
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

/** Where a place takes the answer of a provider. */
export function callbackAt({ origin, path }: Pick<State, 'origin' | 'path'>, query: URLSearchParams): string {
  return locationAt(origin, `${path}?${path === CALLBACK_PATH ? '' : `${CALLBACK_MARK}&`}${query}`)
}

/** Lets visitors through that have signed in, and sends the others to do so. */
export function createGate(options: GateOptions): RequestStep {
  const { seal, once, ledger, endings, open, opened, clock, placeId, settings, signIn, allowed } = options
  const prefix = settings.cookie_prefix === '' ? DEFAULT_PREFIX : settings.cookie_prefix
  const cookie = `${prefix}session`
  // Other hosts of the same domain can set any cookie here but one with this prefix: a session without it was planted.
  const proof = `__Host-${prefix}session`
  const loginPrefix = `${prefix}login.`
  const isOurs = (name: string) => name === cookie || name === proof || name.startsWith(loginPrefix)
  const version = hash('sha256', options.version).slice(0, 16)
  const lifetime = lifetimeOf(settings, options.checkEvery)
  const now = () => Math.floor(clock.now() / 1000)
  open.renew(placeId, version)

  function isAlive(session: Session): boolean {
    return (
      !lifetime.isOver(session, now()) &&
      !endings.isOver(placeId, session.id, session.since) &&
      signIn.signedOutSince?.(session.identity, session.since) !== true
    )
  }

  function sessionOf(exchange: Exchange, cookies: Cookies): OpenedSession | undefined {
    const text = cookies.get(cookie)
    const found = text === undefined ? undefined : opened.open(text)
    if (found === undefined) return undefined
    const { session } = found
    if (session.place !== placeId || session.version !== version) return undefined
    if (isSecure(exchange) && cookies.get(proof) !== session.id) return undefined
    return isAlive(session) ? found : undefined
  }

  /** Only what has passed every check is used up for all nodes: before, anybody could make them write. */
  async function takeUp(id: string, forMs: number): Promise<void> {
    if (await takeOnce({ once, ledger, now: clock.now() }, id, forMs)) return
    throw new SignInRefused('this sign-in was used already; open the page again')
  }

  function sessionCookie(session: Session, secure: boolean): string {
    const seconds = lifetime.isSet ? Math.max(1, session.since + lifetime.longest - now()) : undefined
    return setCookie(cookie, seal.close('session', session), { secure, seconds })
  }

  function pass(exchange: Exchange, cookies: Cookies, { session, fields: told }: OpenedSession): undefined {
    const at = now()
    cookies.hide(isOurs)
    for (const field of told) exchange.fields.append(field)
    exchange.note('oauth.decision', 'allow')
    exchange.note('oauth.user.id', session.identity.id)
    exchange.note('oauth.user.name', session.identity.name)
    open.touch(session.id, at)
    if (exchange.upgrading)
      open.watch(exchange, { ...session, seen: at }, (seen) => isAlive({ ...session, seen }))
    else if (settings.inactivity_timeout > 0 && at > session.seen) {
      const fresh = sessionCookie({ ...session, seen: at }, isSecure(exchange))
      exchange.whenAnswered(({ fields }) => fields.add('Set-Cookie', fresh.slice('Set-Cookie: '.length, -2)))
    }
    return undefined
  }

  async function begin(exchange: Exchange): Promise<Answer> {
    const { method, target } = exchange.head
    exchange.note('oauth.decision', 'block')
    exchange.note('oauth.app_client_id', signIn.label)
    // Only a page load can follow a redirect to a sign-in page and come back; anything else is told plainly.
    const into = exchange.fields.get('sec-fetch-dest') ?? 'document'
    if ((method !== 'GET' && method !== 'HEAD') || exchange.upgrading || !PAGES.has(into))
      throw refusal('login_required')
    const pending: Pending = {
      id: randomBytes(16).toString('base64url'),
      returnTo: returnPath(target),
      at: clock.now(),
      memory: signIn.remember(),
    }
    const path = callbackPath(exchange)
    const state: State = { place: placeId, origin: originOf(exchange), path, id: pending.id }
    const url = await signIn.begin(pending, seal.close('state', state))
    const held = setCookie(loginPrefix + pending.id, seal.close(`login ${placeId}`, pending), {
      path,
      secure: isSecure(exchange),
      seconds: LOGIN_SECONDS,
    })
    return redirect(302, url, held)
  }

  function pendingOf(exchange: Exchange, id: string): Pending {
    const text = new Cookies(exchange).get(loginPrefix + id)
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
    if (!isKeepable(identity)) throw new SignInRefused('the provider gave a name that is too long to keep')
    const secure = isSecure(exchange)
    const at = now()
    const session: Session = {
      id: randomBytes(16).toString('base64url'),
      place: placeId,
      version,
      identity: fitIdentity(identity),
      since: at,
      seen: at,
    }
    const seconds = lifetime.isSet ? lifetime.longest : undefined
    const fields =
      sessionCookie(session, secure) +
      (secure ? setCookie(proof, session.id, { secure, seconds }) : '') +
      (pendingId === ''
        ? ''
        : setCookie(loginPrefix + pendingId, '', { path: pathOf(exchange), secure, seconds: 0 }))
    return redirect(303, locationAt(originOf(exchange), returnTo), fields)
  }

  async function callback(exchange: Exchange): Promise<Answer> {
    const query = queryOf(exchange)
    const ticketText = query.get('ticket')
    if (ticketText !== null) {
      const ticket = seal.open<Ticket>('ticket', ticketText)
      if (ticket === undefined || ticket.place !== placeId || clock.now() - ticket.at > 60_000)
        throw new SignInRefused('this sign-in has expired; open the page again')
      const returnTo = ticket.pending === '' ? ticket.returnTo : pendingOf(exchange, ticket.pending).returnTo
      await takeUp(`ticket ${ticket.id}`, 120_000)
      return admit(exchange, ticket.identity, returnTo, ticket.pending)
    }
    const state = seal.open<State>('state', query.get('state') ?? '')
    if (state === undefined || state.place !== placeId || state.origin !== originOf(exchange))
      throw new SignInRefused('this sign-in does not belong here; open the page again')
    const pending = pendingOf(exchange, state.id)
    const identity = await signIn.complete(query, pending)
    await takeUp(`sign-in ${pending.id}`, LOGIN_SECONDS * 1000)
    return admit(exchange, identity, pending.returnTo, pending.id)
  }

  /** Ends a session on every node. Whoever cannot be sure of that is told, and may try again. */
  async function end({ id, since }: Session): Promise<void> {
    const ending = { place: placeId, subject: id, at: since * 1000, until: (since + lifetime.longest) * 1000 }
    await ledger.end(ending).catch(() => {
      throw refusal('login_unavailable')
    })
    endings.add(ending, clock.now())
  }

  async function logout(exchange: Exchange): Promise<Answer> {
    const session = sessionOf(exchange, new Cookies(exchange))?.session
    const secure = isSecure(exchange)
    const gone =
      setCookie(cookie, '', { secure, seconds: 0 }) +
      (secure ? setCookie(proof, '', { secure, seconds: 0 }) : '')
    if (session !== undefined) await end(session)
    // Here the session is over in any case, also while the provider cannot be reached.
    const elsewhere = session && (await signIn.logoutUrl?.(session.identity).catch(() => undefined))
    if (elsewhere !== undefined) return redirect(303, elsewhere, gone)
    return {
      status: 200,
      fields: `${gone}${pageFields}`,
      body: page('You are signed out.', 'Close this page, or open the site again to sign in.'),
    }
  }

  return (exchange) => {
    const { method } = exchange.head
    const path = pathOf(exchange)
    const query = exchange.head.target.slice(path.length + 1)
    if (path === CALLBACK_PATH || query.startsWith(`${CALLBACK_MARK}&`))
      return callback(exchange).catch(denied)
    if (path === LOGOUT_PATH || query === LOGOUT_MARK) return logout(exchange)
    const cookies = new Cookies(exchange)
    if (method === 'OPTIONS' && settings.options_passthrough) {
      cookies.hide(isOurs)
      return undefined
    }
    const found = sessionOf(exchange, cookies)
    return found === undefined ? begin(exchange).catch(denied) : pass(exchange, cookies, found)
  }
}

function denied(error: unknown): never {
  throw error instanceof SignInRefused ? refusal('login_denied', error.message) : error
}

/** The usual address where the route has it, else the page itself, which has to be of the route. */
function callbackPath(exchange: Exchange): string {
  const { entry, route } = exchange
  try {
    if (entry?.routeFor(CALLBACK_PATH) === route) return CALLBACK_PATH
  } catch {
    // No route has it.
  }
  return pathOf(exchange)
}

function pathOf({ head }: Exchange): string {
  const end = head.target.indexOf('?')
  return end === -1 ? head.target : head.target.slice(0, end)
}

function queryOf(exchange: Exchange): URLSearchParams {
  return new URLSearchParams(exchange.head.target.slice(pathOf(exchange).length + 1))
}

function isSecure({ connection }: Exchange): boolean {
  return connection.scheme === 'https'
}

/** The address the visitor used, as it came in. */
function originOf({ connection, head }: Exchange): string {
  return `${connection.scheme === 'https' ? 'https' : 'http'}://${head.authority.toLowerCase()}`
}
