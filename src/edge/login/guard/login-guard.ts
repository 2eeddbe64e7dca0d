import { hash, randomBytes } from 'node:crypto'
import { isWithin } from '../../../base/values/domain.ts'
import { parseHostPort } from '../../../base/values/hostport.ts'
import type { Exchange } from '../../contracts/exchange.ts'
import type { RequestStep } from '../../contracts/module.ts'
import { Cookies } from '../../cookies.ts'
import { type EdgeError, edgeError } from '../../errors.ts'
import { pageFields, renderPage } from '../../response/pages.ts'
import { type EdgeResponse, redirect } from '../../response/response.ts'
import { CALLBACK_PATH, readSignInTarget, switchTarget } from '../../sign-in-target.ts'
import { type ScopeFailures, type SignInPage, toEdgeError } from '../provider/failure-log.ts'
import { withTimeout } from '../provider/provider-fetch.ts'
import type { StoredTokens, TokenGrant } from '../provider-tokens.ts'
import { sanitizeReturnPath, toLocation } from '../return-to.ts'
import { consumeOnce } from '../sessions/login-store.ts'
import type { Session, SessionEnd } from '../sessions/session.ts'
import type { CachedSession } from '../sessions/session-cookie-cache.ts'
import { describePlace } from '../sessions/session-details.ts'
import { MAX_STATE_SECONDS, type SignInState, type Ticket } from '../sessions/tickets.ts'
import { labelOf, type SignIn, SignInError } from '../sign-in.ts'
import { GuardCookies, isSecure, type PendingSignIn } from './guard-cookies.ts'
import type { GuardOptions } from './guard-options.ts'
import { GuardSessions, type RequestSession } from './guard-sessions.ts'

/** Sec-Fetch-Dest values of page loads. Scripts and images cannot sign in, and each attempt would leave a cookie. */
const PAGE_DESTINATIONS = new Set(['document', 'frame', 'iframe', 'embed', 'object'])

/** The login step of one route or endpoint. */
export interface LoginGuard {
  readonly scopeId: string
  readonly version: string
  readonly signIn: SignIn
  readonly failures: ScopeFailures
  /** What of the tokens of the provider is stored; undefined when nothing is. */
  selectTokens(grant: TokenGrant): StoredTokens | undefined
  readonly step: RequestStep
}

/** Creates a guard: it admits signed-in visitors and redirects the others to the provider. */
export function createLoginGuard(options: GuardOptions): LoginGuard {
  const { seal, tickets, replayGuard, store, liveSessions, clock } = options
  const { scopeId, version, settings, signIn, shared, failures } = options
  const guardCookies = new GuardCookies({ prefix: settings.cookie_prefix, scopeId, shared, seal })
  const sessions = new GuardSessions(options, guardCookies)
  liveSessions.setVersion(sessions.scope.scopeId, sessions.scope.version)

  /**
   * Whether an id is used for the first time. Writes to the shared store, so only after the provider has verified the
   * visitor: otherwise anyone could cause writes.
   */
  const consume = (id: string, ttlMs: number) =>
    consumeOnce({ replayGuard, store, now: clock.now() }, id, ttlMs)

  /** Shows the visitor of a page why the sign-in failed, and its owner more. */
  function reject(exchange: Exchange, returnTo: string): (error: unknown) => never {
    return (error) => {
      if (!(error instanceof SignInError)) throw error
      const page = describePage(exchange, returnTo)
      failures.add(error, signIn.provider, page.place)
      throw toEdgeError(error, page)
    }
  }

  function describePage(exchange: Exchange, returnTo: string): SignInPage {
    const origin = requestOrigin(exchange)
    const switchUrl = toLocation(origin, switchTarget(selectCallbackPath(exchange), returnTo))
    return { place: describePlace(exchange, origin), url: toLocation(origin, returnTo), switchUrl }
  }

  function admitRequest(exchange: Exchange, cookies: Cookies, request: RequestSession): undefined {
    const { cachedSession, tokens } = request
    const { session, fields: identityFields } = cachedSession
    const nowSeconds = Math.floor(clock.now() / 1000)
    sessions.reportActivity(cachedSession, nowSeconds)
    if (request.areTokensRenewed) addToResponse(exchange, sessions.formatTokens(exchange, session, tokens))
    cookies.hide(guardCookies.isOwn)
    for (const field of identityFields) exchange.fields.append(field)
    exchange.identity = session.identity
    exchange.visitorSession = {
      ...sessions.describe(session, tokens, nowSeconds),
      deny: () => denyByRule(exchange, session),
    }
    exchange.annotate('oauth.decision', 'allow')
    exchange.annotate('oauth.user.id', session.identity.id)
    exchange.annotate('oauth.user.name', session.identity.name)
    liveSessions.touch(session.id, nowSeconds)
    if (exchange.upgrading)
      liveSessions.watch(
        exchange,
        { ...session, seen: nowSeconds },
        (seen) => sessions.isAlive({ ...session, seen }) && sessions.isFresh(session),
      )
    // RFC 6455 section 4.2.2: the response that accepts a WebSocket may set cookies too.
    if (request.isSessionRenewed)
      addToResponse(exchange, sessions.formatSession(exchange, { ...session, seen: nowSeconds }))
    else if (settings.inactivity_timeout > 0 && nowSeconds > session.seen)
      addToResponse(exchange, sessions.formatActivity(exchange, { ...session, seen: nowSeconds }))
    return undefined
  }

  /** The error of a visitor whom a rule behind this guard does not let in. */
  function denyByRule(exchange: Exchange, { identity }: Session): EdgeError {
    const error = new SignInError('rule_denied', { person: labelOf(identity) })
    return toEdgeError(error, describePage(exchange, sanitizeReturnPath(exchange.head.target)))
  }

  /** `returnTo`: where the visitor wants to go. */
  async function beginSignIn(
    exchange: Exchange,
    returnTo: string,
    { follows, switchesAccount = false }: { follows?: SessionEnd | undefined; switchesAccount?: boolean },
  ): Promise<EdgeResponse> {
    exchange.annotate('oauth.decision', 'block')
    exchange.annotate('oauth.app_client_id', signIn.label)
    if (!isPageLoad(exchange)) throw edgeError('login_required')
    const signInId = randomBytes(16).toString('base64url')
    const path = selectCallbackPath(exchange)
    const secret = randomBytes(16).toString('base64url')
    const state: SignInState = {
      scopeId,
      version,
      origin: requireOwnOrigin(exchange),
      path,
      signInId,
      browser: digestSecret(secret),
      at: clock.now(),
      memory: signIn.createMemory(),
      returnTo,
    }
    const beginning = signIn.begin(state, tickets.sealState(state), { switchesAccount })
    const url = await withTimeout(beginning, options.providerTimeoutMs)
    const pending: PendingSignIn = { signInId, returnTo, ...(follows !== undefined && { follows }) }
    // The visitor returns with new tokens, for which the request needs room.
    const expiredTokens = guardCookies.expireTokens(exchange)
    return redirect(302, url, guardCookies.formatPending(exchange, pending, { path, secret }) + expiredTokens)
  }

  /** What the browser remembers. Throws unless the ticket is redeemed in the browser that started the sign-in. */
  function requirePending(
    exchange: Exchange,
    { signInId, browser, returnTo }: Ticket,
  ): Pick<PendingSignIn, 'returnTo' | 'follows'> {
    if (signInId === '') return { returnTo }
    const { secret, pending } = guardCookies.readPending(exchange, signInId)
    if (secret === undefined || digestSecret(secret) !== browser || pending?.signInId !== signInId)
      throw new SignInError('other_browser')
    return pending
  }

  /** Redeems a ticket of the login host. Codes and assertions of providers are redeemed there, never here. */
  async function redeemTicket(exchange: Exchange): Promise<EdgeResponse> {
    const ticket = tickets.openTicket(parseQuery(exchange))
    if (ticket === undefined) return reject(exchange, '/')(new SignInError('expired'))
    const { id, signInId } = ticket
    const origin = requestOrigin(exchange)
    if (ticket.scopeId !== scopeId || ticket.origin !== origin)
      return reject(exchange, '/')(new SignInError('other_page'))
    const fail = reject(exchange, ticket.returnTo)
    if (ticket.version !== version) return fail(new SignInError('settings_changed'))
    // Opened again by the back button: whoever is signed in sees what they came for.
    const resume = () => redirect(303, toLocation(origin, ticket.returnTo))
    if (tickets.isExpired(ticket)) {
      // One that was never used would fail the next time too, if a clock is wrong.
      const isUsed = guardCookies.readPending(exchange, signInId).pending === undefined
      return isUsed ? resume() : fail(new SignInError('expired'))
    }
    // Consumed first, so that a ticket leaked to another browser cannot be redeemed by the original one either.
    const ttlMs = MAX_STATE_SECONDS * 1000 + 120_000
    if (!(await consume(signInId === '' ? `ticket ${id}` : `sign-in ${signInId}`, ttlMs))) return resume()
    try {
      const { returnTo, follows } = requirePending(exchange, ticket)
      const provider = await withTimeout(signIn.describeProvider(), options.providerTimeoutMs)
      const cookies = sessions.start(exchange, ticket, { provider, origin, follows })
      const expired =
        signInId === '' ? '' : guardCookies.expirePending(exchange, signInId, requestPath(exchange))
      return redirect(303, toLocation(origin, returnTo), cookies + expired)
    } catch (error) {
      return fail(error)
    }
  }

  /** Where the visitor goes on to sign out at the provider, which leads back here. */
  async function providerLogoutUrl(
    exchange: Exchange,
    found: CachedSession,
    cookies: Cookies,
  ): Promise<string | undefined> {
    const [origin, path] = [requestOrigin(exchange), selectCallbackPath(exchange)]
    const signOut = {
      idToken: sessions.logoutHint(found, cookies),
      state: tickets.sealSignOut({ scopeId, origin, path }),
    }
    const url = signIn.logoutUrl?.(found.session.identity, signOut) ?? Promise.resolve(undefined)
    return withTimeout(url, options.providerTimeoutMs).catch(() => undefined)
  }

  async function logout(exchange: Exchange): Promise<EdgeResponse> {
    const cookies = new Cookies(exchange)
    const found = sessions.find(exchange, cookies)
    const live = found !== undefined && sessions.isAlive(found.session) ? found : undefined
    const expiredCookies = guardCookies.expireSession(exchange)
    if (live !== undefined) await sessions.revoke(live.session)
    // The local session has ended even when the provider cannot be reached.
    const providerUrl = live && (await providerLogoutUrl(exchange, live, cookies))
    if (providerUrl !== undefined) return redirect(303, providerUrl, expiredCookies)
    return {
      status: 200,
      fields: `${expiredCookies}${pageFields}`,
      body: renderPage('You are signed out.', 'Close this page, or open the site again to sign in.'),
    }
  }

  /** Ends the session of the visitor, who signs in as somebody else. */
  async function switchAccount(exchange: Exchange): Promise<EdgeResponse> {
    const returnTo = sanitizeReturnPath(parseQuery(exchange).get('return') ?? '/')
    const session = sessions.find(exchange, new Cookies(exchange))?.session
    const response = await beginSignIn(exchange, returnTo, { switchesAccount: true }).catch(
      reject(exchange, returnTo),
    )
    if (session !== undefined && sessions.isAlive(session)) await sessions.revoke(session)
    return { ...response, fields: response.fields + guardCookies.expireSession(exchange) }
  }

  const step: RequestStep = (exchange) => {
    const { method, host, target } = exchange.head
    // A browser would not take the cookie, or would send it to hosts of another account.
    if (shared !== undefined && !(isWithin(host, shared.domain) && shared.isOwned()))
      throw edgeError('cookie_domain_invalid', shared.domain)
    const ownTarget = readSignInTarget(target)
    if (ownTarget === 'callback') return redeemTicket(exchange)
    if (ownTarget === 'logout') return logout(exchange)
    if (ownTarget === 'switch') return switchAccount(exchange)
    const cookies = new Cookies(exchange)
    if (method === 'OPTIONS' && settings.options_passthrough) {
      cookies.hide(guardCookies.isOwn)
      return undefined
    }
    const start = (follows: SessionEnd | undefined) => {
      const returnTo = sanitizeReturnPath(target)
      return beginSignIn(exchange, returnTo, { follows }).catch(reject(exchange, returnTo))
    }
    const found = sessions.find(exchange, cookies)
    if (found === undefined) return start(undefined)
    const restart = () => start(sessions.findEnd(found.session))
    if (!sessions.isAlive(found.session)) return restart()
    const request = sessions.resolve(found, cookies)
    const renewal = sessions.renew(request)
    if (renewal === undefined)
      return sessions.isOverdue(request) ? restart() : admitRequest(exchange, cookies, request)
    return renewal.then(() => {
      const renewed = sessions.resolve(found, cookies)
      return sessions.isAlive(found.session) && !sessions.isOverdue(renewed)
        ? admitRequest(exchange, cookies, renewed)
        : restart()
    })
  }
  return {
    scopeId,
    version,
    signIn,
    failures,
    selectTokens: (grant) => sessions.selectTokens(grant),
    step,
  }
}

/**
 * Whether a browser loads a page: only then can the visitor follow a redirect to a sign-in page and return. A program gets
 * a plain error, and one that says nothing of what it accepts is taken for a browser.
 */
function isPageLoad({ head, fields, upgrading }: Exchange): boolean {
  if ((head.method !== 'GET' && head.method !== 'HEAD') || upgrading) return false
  const destination = fields.get('sec-fetch-dest')
  if (destination !== undefined) return PAGE_DESTINATIONS.has(destination)
  return fields.get('accept')?.includes('text/html') ?? true
}

/** Adds Set-Cookie lines to the response of the upstream. */
function addToResponse(exchange: Exchange, lines: string): void {
  exchange.onResponse(({ fields }) => {
    for (const line of lines.split('\r\n'))
      if (line !== '') fields.add('Set-Cookie', line.slice('Set-Cookie: '.length))
    return undefined
  })
}

function digestSecret(secret: string): string {
  return hash('sha256', secret, 'base64url')
}

/** The standard callback path if the route contains it, otherwise the path of the requested page. */
function selectCallbackPath(exchange: Exchange): string {
  const { httpHost, route } = exchange
  try {
    if (httpHost?.routeFor(CALLBACK_PATH) === route) return CALLBACK_PATH
  } catch {
    // No route has it.
  }
  return requestPath(exchange)
}

function requestPath({ head }: Exchange): string {
  const end = head.target.indexOf('?')
  return end === -1 ? head.target : head.target.slice(0, end)
}

function parseQuery(exchange: Exchange): URLSearchParams {
  return new URLSearchParams(exchange.head.target.slice(requestPath(exchange).length + 1))
}

/**
 * The origin the visitor used, if this edge serves it. Other ports of the same host may belong to other tenants, and
 * tickets must not be sent to them.
 */
function requireOwnOrigin(exchange: Exchange): string {
  const { connection, runtime, head } = exchange
  const port = parseHostPort(head.authority)?.port
  const publicPort = isSecure(exchange) ? runtime.publicHttpsPort : runtime.publicHttpPort
  if (port !== undefined && port !== publicPort && port !== connection.localPort)
    throw new SignInError('wrong_port')
  return requestOrigin(exchange)
}

/** The origin of the request. */
function requestOrigin({ connection, head }: Exchange): string {
  return `${connection.scheme === 'https' ? 'https' : 'http'}://${head.authority.toLowerCase()}`
}
