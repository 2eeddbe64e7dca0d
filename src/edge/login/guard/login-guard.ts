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

/** The login step of one route or endpoint: it admits signed-in visitors and redirects the others to the provider. */
export class LoginGuard<S extends SignIn = SignIn> {
  readonly scopeId: string
  readonly version: string
  readonly signIn: S
  readonly failures: ScopeFailures
  readonly #options: GuardOptions
  readonly #cookies: GuardCookies
  readonly #sessions: GuardSessions

  constructor(options: GuardOptions & { readonly signIn: S }) {
    const { scopeId, version, settings, signIn, shared, failures, seal, liveSessions } = options
    this.scopeId = scopeId
    this.version = version
    this.signIn = signIn
    this.failures = failures
    this.#options = options
    this.#cookies = new GuardCookies({ prefix: settings.cookie_prefix, scopeId, shared, seal })
    this.#sessions = new GuardSessions(options, this.#cookies)
    liveSessions.setVersion(this.#sessions.scope.scopeId, this.#sessions.scope.version)
  }

  /** What of the tokens of the provider is stored; undefined when nothing is. */
  selectTokens(grant: TokenGrant): StoredTokens | undefined {
    return this.#sessions.selectTokens(grant)
  }

  readonly step: RequestStep = (exchange) => {
    const { method, host, target } = exchange.head
    const { shared, settings } = this.#options
    // A browser would not take the cookie, or would send it to hosts of another account.
    if (shared !== undefined && !(isWithin(host, shared.domain) && shared.isOwned()))
      throw edgeError('cookie_domain_invalid', shared.domain)
    const ownTarget = readSignInTarget(target)
    if (ownTarget === 'callback') return this.#redeemTicket(exchange)
    if (ownTarget === 'logout') return this.#logout(exchange)
    if (ownTarget === 'switch') return this.#switchAccount(exchange)
    const cookies = new Cookies(exchange)
    if (method === 'OPTIONS' && settings.options_passthrough) {
      cookies.hide(this.#cookies.isOwn)
      return undefined
    }
    const start = (follows: SessionEnd | undefined) => {
      const returnTo = sanitizeReturnPath(target)
      return this.#beginSignIn(exchange, returnTo, { follows }).catch(this.#reject(exchange, returnTo))
    }
    const found = this.#sessions.find(exchange, cookies)
    if (found === undefined) return start(undefined)
    const restart = () => start(this.#sessions.findEnd(found.session))
    if (!this.#sessions.isAlive(found.session)) return restart()
    const request = this.#sessions.resolve(found, cookies)
    const renewal = this.#sessions.renew(request)
    if (renewal === undefined)
      return this.#sessions.isOverdue(request) ? restart() : this.#admitRequest(exchange, cookies, request)
    return renewal.then(() => {
      const renewed = this.#sessions.resolve(found, cookies)
      return this.#sessions.isAlive(found.session) && !this.#sessions.isOverdue(renewed)
        ? this.#admitRequest(exchange, cookies, renewed)
        : restart()
    })
  }

  /** Shows the visitor of a page why the sign-in failed, and its owner more. */
  #reject(exchange: Exchange, returnTo: string): (error: unknown) => never {
    return (error) => {
      if (!(error instanceof SignInError)) throw error
      const page = this.#describePage(exchange, returnTo)
      this.failures.add(error, this.signIn.provider, page.place)
      throw toEdgeError(error, page)
    }
  }

  #describePage(exchange: Exchange, returnTo: string): SignInPage {
    const origin = requestOrigin(exchange)
    const switchUrl = toLocation(origin, switchTarget(selectCallbackPath(exchange), returnTo))
    return { place: describePlace(exchange, origin), url: toLocation(origin, returnTo), switchUrl }
  }

  #admitRequest(exchange: Exchange, cookies: Cookies, request: RequestSession): undefined {
    const { clock, liveSessions, settings } = this.#options
    const { cachedSession, tokens } = request
    const { session, fields: identityFields } = cachedSession
    const nowSeconds = Math.floor(clock.now() / 1000)
    this.#sessions.reportActivity(cachedSession, nowSeconds)
    if (request.areTokensRenewed)
      addToResponse(exchange, this.#sessions.formatTokens(exchange, session, tokens))
    cookies.hide(this.#cookies.isOwn)
    for (const field of identityFields) exchange.fields.append(field)
    exchange.identity = session.identity
    exchange.visitorSession = {
      ...this.#sessions.describe(session, tokens, nowSeconds),
      deny: () => this.#denyByRule(exchange, session),
    }
    exchange.annotate('oauth.decision', 'allow')
    exchange.annotate('oauth.user.id', session.identity.id)
    exchange.annotate('oauth.user.name', session.identity.name)
    liveSessions.touch(session.id, nowSeconds)
    if (exchange.upgrading)
      liveSessions.watch(
        exchange,
        { ...session, seen: nowSeconds },
        (seen) => this.#sessions.isAlive({ ...session, seen }) && this.#sessions.isFresh(session),
      )
    // RFC 6455 section 4.2.2: the response that accepts a WebSocket may set cookies too.
    if (request.isSessionRenewed)
      addToResponse(exchange, this.#sessions.formatSession(exchange, { ...session, seen: nowSeconds }))
    else if (settings.inactivity_timeout > 0 && nowSeconds > session.seen)
      addToResponse(exchange, this.#sessions.formatActivity(exchange, { ...session, seen: nowSeconds }))
    return undefined
  }

  /** The error of a visitor whom a rule behind this guard does not let in. */
  #denyByRule(exchange: Exchange, { identity }: Session): EdgeError {
    const error = new SignInError('rule_denied', { person: labelOf(identity) })
    return toEdgeError(error, this.#describePage(exchange, sanitizeReturnPath(exchange.head.target)))
  }

  /** `returnTo`: where the visitor wants to go. */
  async #beginSignIn(
    exchange: Exchange,
    returnTo: string,
    { follows, switchesAccount }: { follows?: SessionEnd | undefined; switchesAccount?: boolean },
  ): Promise<EdgeResponse> {
    const { tickets, clock, providerTimeoutMs } = this.#options
    exchange.annotate('oauth.decision', 'block')
    exchange.annotate('oauth.app_client_id', this.signIn.label)
    if (!isPageLoad(exchange)) throw edgeError('login_required')
    const signInId = randomBytes(16).toString('base64url')
    const path = selectCallbackPath(exchange)
    const secret = randomBytes(16).toString('base64url')
    const state: SignInState = {
      scopeId: this.scopeId,
      version: this.version,
      origin: requireOwnOrigin(exchange),
      path,
      signInId,
      browser: digestSecret(secret),
      at: clock.now(),
      memory: this.signIn.createMemory(),
      returnTo,
    }
    const beginning = this.signIn.begin(state, tickets.sealState(state), switchesAccount)
    const url = await withTimeout(beginning, providerTimeoutMs)
    const pending: PendingSignIn = { signInId, returnTo, ...(follows !== undefined && { follows }) }
    // The visitor returns with new tokens, for which the request needs room.
    const expiredTokens = this.#cookies.expireTokens(exchange)
    return redirect(
      302,
      url,
      this.#cookies.formatPending(exchange, pending, { path, secret }) + expiredTokens,
    )
  }

  /** What the browser remembers. Throws unless the ticket is redeemed in the browser that started the sign-in. */
  #requirePending(
    exchange: Exchange,
    { signInId, browser, returnTo }: Ticket,
  ): Pick<PendingSignIn, 'returnTo' | 'follows'> {
    if (signInId === '') return { returnTo }
    const { secret, pending } = this.#cookies.readPending(exchange, signInId)
    if (secret === undefined || digestSecret(secret) !== browser || pending?.signInId !== signInId)
      throw new SignInError('other_browser')
    return pending
  }

  /** Redeems a ticket of the login host. Codes and assertions of providers are redeemed there, never here. */
  async #redeemTicket(exchange: Exchange): Promise<EdgeResponse> {
    const { tickets, providerTimeoutMs } = this.#options
    const ticket = tickets.openTicket(parseQuery(exchange))
    if (ticket === undefined) return this.#reject(exchange, '/')(new SignInError('expired'))
    const { id, signInId } = ticket
    const origin = requestOrigin(exchange)
    if (ticket.scopeId !== this.scopeId || ticket.origin !== origin)
      return this.#reject(exchange, '/')(new SignInError('other_page'))
    const fail = this.#reject(exchange, ticket.returnTo)
    if (ticket.version !== this.version) return fail(new SignInError('settings_changed'))
    // Opened again by the back button: whoever is signed in sees what they came for.
    const resume = () => redirect(303, toLocation(origin, ticket.returnTo))
    if (tickets.isExpired(ticket)) {
      // One that was never used would fail the next time too, if a clock is wrong.
      const isUsed = this.#cookies.readPending(exchange, signInId).pending === undefined
      return isUsed ? resume() : fail(new SignInError('expired'))
    }
    // Consumed first, so that a ticket leaked to another browser cannot be redeemed by the original one either. This writes
    // to the shared store, so only after the provider has verified the visitor: otherwise anyone could cause writes.
    const ttlMs = MAX_STATE_SECONDS * 1000 + 120_000
    const usedId = signInId === '' ? `ticket ${id}` : `sign-in ${signInId}`
    if (!(await consumeOnce(this.#options, usedId, ttlMs))) return resume()
    try {
      const { returnTo, follows } = this.#requirePending(exchange, ticket)
      const provider = await withTimeout(this.signIn.describeProvider(), providerTimeoutMs)
      const cookies = this.#sessions.start(exchange, ticket, { provider, origin, follows })
      const expired =
        signInId === '' ? '' : this.#cookies.expirePending(exchange, signInId, requestPath(exchange))
      return redirect(303, toLocation(origin, returnTo), cookies + expired)
    } catch (error) {
      return fail(error)
    }
  }

  /** Where the visitor goes on to sign out at the provider, which leads back here. */
  async #providerLogoutUrl(
    exchange: Exchange,
    found: CachedSession,
    cookies: Cookies,
  ): Promise<string | undefined> {
    const { tickets, providerTimeoutMs } = this.#options
    const { scopeId } = this
    const [origin, path] = [requestOrigin(exchange), selectCallbackPath(exchange)]
    const signOut = {
      idToken: this.#sessions.logoutHint(found, cookies),
      state: tickets.sealSignOut({ scopeId, origin, path }),
    }
    const url = this.signIn.logoutUrl?.(found.session.identity, signOut) ?? Promise.resolve(undefined)
    return withTimeout(url, providerTimeoutMs).catch(() => undefined)
  }

  async #logout(exchange: Exchange): Promise<EdgeResponse> {
    const cookies = new Cookies(exchange)
    const found = this.#sessions.find(exchange, cookies)
    const live = found !== undefined && this.#sessions.isAlive(found.session) ? found : undefined
    const expiredCookies = this.#cookies.expireSession(exchange)
    if (live !== undefined) await this.#sessions.revoke(live.session)
    // The local session has ended even when the provider cannot be reached.
    const providerUrl = live && (await this.#providerLogoutUrl(exchange, live, cookies))
    if (providerUrl !== undefined) return redirect(303, providerUrl, expiredCookies)
    return {
      status: 200,
      fields: `${expiredCookies}${pageFields}`,
      body: renderPage('You are signed out.', 'Close this page, or open the site again to sign in.'),
    }
  }

  /** Ends the session of the visitor, who signs in as somebody else. */
  async #switchAccount(exchange: Exchange): Promise<EdgeResponse> {
    const returnTo = sanitizeReturnPath(parseQuery(exchange).get('return') ?? '/')
    const session = this.#sessions.find(exchange, new Cookies(exchange))?.session
    const response = await this.#beginSignIn(exchange, returnTo, { switchesAccount: true }).catch(
      this.#reject(exchange, returnTo),
    )
    if (session !== undefined && this.#sessions.isAlive(session)) await this.#sessions.revoke(session)
    return { ...response, fields: response.fields + this.#cookies.expireSession(exchange) }
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
