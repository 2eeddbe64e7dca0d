import { hash, randomBytes } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { parseHostPort } from '../../base/hostport.ts'
import { refusal } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { RequestStep } from '../module.ts'
import { type Answer, page, pageFields, redirect } from '../response.ts'
import { Cookies, setCookie } from './cookies.ts'
import type { OpenSessions } from './live-sessions.ts'
import { type LoginLedger, takeOnce } from './login-store.ts'
import { withinDeadline } from './provider-fetch.ts'
import type { Once } from './replay-guard.ts'
import { locationAt, returnPath } from './return-to.ts'
import type { Endings } from './revocations.ts'
import type { Seal } from './seal.ts'
import { lifetimeOf, type Session, type SessionSettings } from './session.ts'
import type { OpenedSession, OpenedSessions } from './session-cookie-cache.ts'
import { type Allowed, denied, type Identity, isAllowed, type SignIn, SignInRefused } from './sign-in.ts'
import {
  CALLBACK_MARK,
  CALLBACK_PATH,
  type HandOver,
  MAX_STATE_SECONDS,
  type State,
  type Ticket,
} from './tickets.ts'

/** What gates share. */
export interface GateParts {
  readonly seal: Seal
  readonly handOver: HandOver
  /** Sign-ins that were used up on this node. */
  readonly once: Once
  /** The same, and sign-outs, for all nodes. */
  readonly ledger: LoginLedger
  /** Sessions that are over, as far as this node has heard. */
  readonly endings: Endings
  readonly open: OpenSessions
  readonly opened: OpenedSessions
  readonly clock: Clock
  /** How long a visitor waits for the provider. */
  readonly maxProviderMs: number
}

export interface GateOptions extends GateParts {
  readonly placeId: string
  readonly settings: SessionSettings
  /** Seconds after which the provider is asked anew; 0 for never. */
  readonly checkEvery: number
  /** Sessions, states and tickets of another version are void. */
  readonly version: string
  readonly signIn: SignIn
  readonly allowed: Allowed
}

const LOGOUT_PATH = '/auth/logout'
/** Marks a sign-out on a page of a route that does not have that path. */
const LOGOUT_MARK = 'adit-logout'
const DEFAULT_PREFIX = 'adit.'
/** What browsers load pages into; scripts and images cannot sign in, and each try would leave a cookie. */
const PAGES = new Set(['document', 'frame', 'iframe', 'embed', 'object'])
/** How many sign-ins can be under way in one browser at one host. */
const MAX_SIGN_INS_PER_BROWSER = 8

/** What the browser that began a sign-in keeps of it. */
interface Pending {
  readonly signInId: string
  /** Path and query to go on with. */
  readonly returnTo: string
}

/** The login module of one route or endpoint. */
export interface Gate {
  readonly place: string
  readonly version: string
  readonly signIn: SignIn
  readonly step: RequestStep
}

/** Lets visitors through that have signed in, and sends the others to do so. */
export function createGate(options: GateOptions): Gate {
  const { seal, handOver, once, ledger, endings, open, opened, clock } = options
  const { placeId, version, settings, signIn, allowed } = options
  const prefix = settings.cookie_prefix === '' ? DEFAULT_PREFIX : settings.cookie_prefix
  const cookie = `${prefix}session`
  // Other hosts of the same domain can set any cookie here but one with this prefix: a session without it was planted.
  const proof = `__Host-${prefix}session`
  const loginPrefix = `${prefix}login.`
  // Over https no other host of the domain can plant what proves in which browser a sign-in began.
  const browserPrefix = { plain: `${prefix}browser.`, secure: `__Host-${prefix}browser.` }
  const isOurs = (name: string) =>
    name === cookie ||
    name === proof ||
    name.startsWith(loginPrefix) ||
    name.startsWith(browserPrefix.plain) ||
    name.startsWith(browserPrefix.secure)
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

  /** For all nodes, and only what a provider has vouched for: otherwise anybody could make them write. */
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
    // RFC 6455 section 4.2.2: the answer that begins a WebSocket may set cookies too.
    if (settings.inactivity_timeout > 0 && at > session.seen) {
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
    const signInId = randomBytes(16).toString('base64url')
    const path = callbackPath(exchange)
    const secret = randomBytes(16).toString('base64url')
    const state: State = {
      place: placeId,
      version,
      origin: requireOwnOrigin(exchange),
      path,
      signInId,
      browser: digestOf(secret),
      at: clock.now(),
      memory: signIn.remember(),
    }
    const url = await withinDeadline(signIn.begin(state, handOver.sealState(state)), options.maxProviderMs)
    const secure = isSecure(exchange)
    const pending: Pending = { signInId, returnTo: returnPath(target) }
    const held = setCookie(loginPrefix + signInId, seal.close(`login ${placeId}`, pending), {
      path,
      secure,
      seconds: MAX_STATE_SECONDS,
    })
    return redirect(302, url, held + browserCookies(exchange, signInId, secret))
  }

  /** The name of the cookie that proves in which browser a sign-in began. */
  function browserCookie(exchange: Exchange, signInId: string): string {
    return (isSecure(exchange) ? browserPrefix.secure : browserPrefix.plain) + signInId
  }

  function browserCookies(exchange: Exchange, signInId: string, secret: string): string {
    const secure = isSecure(exchange)
    const name = browserCookie(exchange, signInId)
    // It comes along with every request, so browsers may not gather too many; they list the oldest first.
    const surplus = new Cookies(exchange)
      .namesFrom(browserCookie(exchange, ''))
      .slice(0, 1 - MAX_SIGN_INS_PER_BROWSER)
    return (
      setCookie(name, secret, { secure, seconds: MAX_STATE_SECONDS }) +
      surplus.map((old) => setCookie(old, '', { secure, seconds: 0 })).join('')
    )
  }

  /** Where to go on after the sign-in that a ticket completes, in the browser that began it and no other. */
  function returnToOf(exchange: Exchange, { signInId, browser, returnTo }: Ticket): string {
    if (signInId === '') return returnTo
    const cookies = new Cookies(exchange)
    const secret = cookies.get(browserCookie(exchange, signInId))
    const text = cookies.get(loginPrefix + signInId)
    const pending = text === undefined ? undefined : seal.open<Pending>(`login ${placeId}`, text)
    if (secret === undefined || digestOf(secret) !== browser || pending?.signInId !== signInId)
      throw new SignInRefused('this sign-in was begun in another browser; open the page again')
    return pending.returnTo
  }

  function admit(exchange: Exchange, identity: Identity, returnTo: string, signInId: string): Answer {
    if (!isAllowed(identity, allowed))
      throw new SignInRefused(`${identity.email || identity.name || identity.id} may not see this page`)
    const secure = isSecure(exchange)
    const at = now()
    const session: Session = {
      id: randomBytes(16).toString('base64url'),
      place: placeId,
      version,
      identity,
      since: at,
      seen: at,
    }
    const seconds = lifetime.isSet ? lifetime.longest : undefined
    const fields =
      sessionCookie(session, secure) +
      (secure ? setCookie(proof, session.id, { secure, seconds }) : '') +
      (signInId === ''
        ? ''
        : setCookie(loginPrefix + signInId, '', { path: pathOf(exchange), secure, seconds: 0 }) +
          setCookie(browserCookie(exchange, signInId), '', { secure, seconds: 0 }))
    return redirect(303, locationAt(originOf(exchange), returnTo), fields)
  }

  /** Takes a ticket of the login host. What a provider issues is redeemed there and has no meaning here. */
  async function callback(exchange: Exchange): Promise<Answer> {
    const ticket = handOver.openTicket(queryOf(exchange).get('ticket') ?? '')
    if (ticket.place !== placeId || ticket.version !== version || ticket.origin !== originOf(exchange))
      throw new SignInRefused('this sign-in does not belong here; open the page again')
    const { id, signInId } = ticket
    // First of all, so that a ticket that reached another browser is of no use to the one that began.
    const forMs = MAX_STATE_SECONDS * 1000 + 120_000
    await takeUp(signInId === '' ? `ticket ${id}` : `sign-in ${signInId}`, forMs)
    const returnTo = returnToOf(exchange, ticket)
    return admit(exchange, ticket.identity, returnTo, signInId)
  }

  /** Ends a session on every node. Whoever cannot be sure of that is told, and may try again. */
  async function end({ id, since }: Session): Promise<void> {
    const ending = { place: placeId, subject: id, at: since * 1000, until: (since + lifetime.longest) * 1000 }
    await ledger.end(ending).catch(() => {
      throw refusal('login_unavailable')
    })
    endings.add(ending, clock.now())
  }

  async function logoutUrl({ identity }: Session): Promise<string | undefined> {
    const url = signIn.logoutUrl?.(identity) ?? Promise.resolve(undefined)
    return withinDeadline(url, options.maxProviderMs).catch(() => undefined)
  }

  async function logout(exchange: Exchange): Promise<Answer> {
    const session = sessionOf(exchange, new Cookies(exchange))?.session
    const secure = isSecure(exchange)
    const gone =
      setCookie(cookie, '', { secure, seconds: 0 }) +
      (secure ? setCookie(proof, '', { secure, seconds: 0 }) : '')
    if (session !== undefined) await end(session)
    // Here the session is over in any case, also while the provider cannot be reached.
    const elsewhere = session && (await logoutUrl(session))
    if (elsewhere !== undefined) return redirect(303, elsewhere, gone)
    return {
      status: 200,
      fields: `${gone}${pageFields}`,
      body: page('You are signed out.', 'Close this page, or open the site again to sign in.'),
    }
  }

  const step: RequestStep = (exchange) => {
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
  return { place: placeId, version, signIn, step }
}

function digestOf(secret: string): string {
  return hash('sha256', secret, 'base64url')
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

/**
 * The address the visitor used, if this edge answers there. Other ports of the same host can be those of other tenants,
 * and a ticket must not be sent to them.
 */
function requireOwnOrigin(exchange: Exchange): string {
  const { connection, core, head } = exchange
  const port = parseHostPort(head.authority)?.port
  const publicPort = isSecure(exchange) ? core.publicHttpsPort : core.publicHttpPort
  if (port !== undefined && port !== publicPort && port !== connection.localPort)
    throw new SignInRefused(
      `nobody can sign in on port ${port} of this host; open the page on its usual port`,
    )
  return originOf(exchange)
}

/** The address the visitor used, as it came in. */
function originOf({ connection, head }: Exchange): string {
  return `${connection.scheme === 'https' ? 'https' : 'http'}://${head.authority.toLowerCase()}`
}
