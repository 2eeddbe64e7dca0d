import { trimOws } from '../../../base/http/optional-white-space.ts'
import { parseHostPort } from '../../../base/values/hostport.ts'
import type { Exchange } from '../../contracts/exchange.ts'
import { holdBody } from '../../contracts/held-body.ts'
import type { RequestStep } from '../../contracts/module.ts'
import type { EdgeRuntime } from '../../contracts/runtime.ts'
import type { HttpHost, HttpRoute } from '../../contracts/table.ts'
import { edgeError } from '../../errors.ts'
import { pageFields, renderPage } from '../../response/pages.ts'
import { type EdgeResponse, redirect } from '../../response/response.ts'
import { logoutTarget, switchTarget } from '../../sign-in-target.ts'
import { isProviderCallback } from '../callback-paths.ts'
import { type FailurePlace, toEdgeError } from '../provider/failure-log.ts'
import { withTimeout } from '../provider/provider-fetch.ts'
import { toLocation } from '../return-to.ts'
import { SamlServiceProvider } from '../saml/saml.ts'
import type { ReplayGuard } from '../sessions/replay-guard.ts'
import { describePlace } from '../sessions/session-details.ts'
import {
  MAX_STATE_SECONDS,
  type SignInOrigin,
  type SignInState,
  type SignOutState,
  type Tickets,
} from '../sessions/tickets.ts'
import { type SignIn, SignInError } from '../sign-in.ts'
import type { CallbackLimit } from './callback-limit.ts'
import type { LoginGuard } from './login-guard.ts'

// The largest SAML message in base64, with room for percent-encoding and RelayState.
const MAX_FORM_BYTES = 256 * 1024
/** Larger than any logout token with a person and a session. */
const MAX_LOGOUT_BYTES = 16 * 1024
/** Of a route by its id, or of an endpoint by its host. */
const BACKCHANNEL_LOGOUT_PATH = /^\/oidc\/backchannel-logout\/([^/]+)$/
/** The same. */
const SAML_PATH = /^\/saml\/([^/]+)(\/acs|\/slo)?$/

interface LoginHostOptions {
  readonly tickets: Tickets
  readonly replayGuard: ReplayGuard
  /** The guard of a route's step. */
  readonly guards: Pick<WeakMap<RequestStep, LoginGuard>, 'get'>
  readonly limit: CallbackLimit
  /** How long a visitor waits for the provider. */
  readonly providerTimeoutMs: number
}

/**
 * The host that providers redirect visitors back to. It redeems their responses with the module that the sealed state
 * names, as currently configured, and sends the result to the route as a ticket.
 */
export class LoginHost {
  readonly #options: LoginHostOptions

  constructor(options: LoginHostOptions) {
    this.#options = options
  }

  /** The step that answers every request to the host. */
  readonly step: RequestStep = (exchange) => this.#handle(exchange).catch(rejectUnknown)

  async #handle(exchange: Exchange): Promise<EdgeResponse> {
    const url = URL.parse(exchange.head.target, 'https://host')
    if (url === null) throw edgeError('endpoint_not_found', exchange.head.host)
    if (isProviderCallback(url.pathname)) return this.#answerCallback(exchange, url)
    const [, page] = BACKCHANNEL_LOGOUT_PATH.exec(url.pathname) ?? []
    if (page !== undefined) return this.#endSessions(exchange, page)
    const [, name, endpoint] = SAML_PATH.exec(url.pathname) ?? []
    const found = name === undefined ? undefined : this.#findSamlGuard(exchange.runtime, name)
    if (found === undefined) throw edgeError('endpoint_not_found', exchange.head.host)
    return this.#answerSaml(exchange, found, { endpoint, search: url.search })
  }

  /** A visitor returns from an OAuth or OpenID provider. */
  async #answerCallback({ head, runtime }: Exchange, url: URL): Promise<EdgeResponse> {
    if (head.method !== 'GET') throw edgeError('method_refused', head.method)
    const signOut = this.#options.tickets.openSignOut(url.searchParams.get('state') ?? '')
    const location =
      signOut === undefined ? await this.#redeemCode(runtime, url) : this.#signedOutUrl(runtime, signOut)
    return redirect(303, location)
  }

  /** A URL of a SAML service provider: its metadata, or one of the endpoints that the metadata names. */
  async #answerSaml(exchange: Exchange, found: SamlGuard, { endpoint, search }: SamlUrl) {
    const { limit } = this.#options
    const { method } = exchange.head
    const { remoteAddress } = exchange.connection
    const { signIn } = found.guard
    if (endpoint === undefined && method === 'GET')
      return {
        status: 200,
        fields: 'Content-Type: application/samlmetadata+xml\r\n',
        body: Buffer.from(await signIn.metadata()),
      }
    if (endpoint === '/acs' && method === 'POST')
      return limit(remoteAddress, async () =>
        redirect(303, await this.#consumeResponse(exchange.runtime, found, await readForm(exchange))),
      )
    if (endpoint === '/slo' && (method === 'GET' || method === 'POST')) {
      const location = await limit(remoteAddress, async () =>
        method === 'GET' ? signIn.logoutQuery(search.slice(1)) : signIn.logoutForm(await readForm(exchange)),
      ).catch(recordFor(found))
      if (location !== undefined) return redirect(303, location)
      return {
        status: 200,
        fields: pageFields,
        body: renderPage('You are signed out.', 'You can close this page.'),
      }
    }
    throw edgeError('method_refused', method)
  }

  /** Redeems an authorization code; returns where the visitor goes on. */
  #redeemCode(runtime: EdgeRuntime, { pathname: path, searchParams: query }: URL): Promise<string> {
    const { tickets, replayGuard, providerTimeoutMs } = this.#options
    // RFC 6749 section 3.1: parameters must not repeat, because two parsers might pick different ones.
    if (new Set(query.keys()).size !== query.size) throw new SignInError('response_invalid')
    const sealedState = query.get('state') ?? ''
    const state = tickets.openState(sealedState)
    if (state === undefined) throw new SignInError('not_started_here')
    return this.#goOn(runtime, state, async (guard) => {
      if (!replayGuard.consume(`state ${state.signInId}`, MAX_STATE_SECONDS * 1000))
        throw new SignInError('completed')
      // With the client, PKCE verifier and nonce of the module that started the sign-in, so that a code and a state that
      // do not belong together fail.
      const completing = guard.signIn.complete({ path, query, state: sealedState }, state)
      const { grant, identity } = await withTimeout(completing, providerTimeoutMs)
      const tokens = guard.selectTokens(grant)
      return tickets.ticketUrl(state, identity, { returnTo: state.returnTo ?? '', ...(tokens && { tokens }) })
    })
  }

  /** Where a visitor goes on who has signed out at the provider: the page that says so. */
  #signedOutUrl(runtime: EdgeRuntime, state: SignOutState): string {
    const { origin, path, scopeId } = state
    if (this.#findGuard(runtime, state)?.guard.scopeId !== scopeId) throw new SignInError('settings_changed')
    return toLocation(origin, logoutTarget(path))
  }

  /** Ends the sessions that a logout token names: OpenID Connect Back-Channel Logout 1.0 section 2.8. */
  async #endSessions(exchange: Exchange, page: string): Promise<EdgeResponse> {
    const found = this.#findGuardNamed(
      exchange.runtime,
      page,
      ({ signIn }) => signIn.endSessions !== undefined,
    )
    if (found === undefined) throw edgeError('endpoint_not_found', exchange.head.host)
    if (exchange.head.method !== 'POST') throw edgeError('method_refused', exchange.head.method)
    try {
      await this.#options
        .limit(exchange.connection.remoteAddress, async () =>
          found.guard.signIn.endSessions!(await readLogoutToken(exchange)),
        )
        .catch(recordFor(found))
      return backchannelResponse(200, '')
    } catch (error) {
      if (!(error instanceof SignInError) || error.failure !== 'logout_invalid') throw error
      return backchannelResponse(400, JSON.stringify({ error: 'invalid_request' }))
    }
  }

  /** Consumes a SAML response; returns where the visitor goes on. */
  #consumeResponse(runtime: EdgeRuntime, found: SamlGuard, form: URLSearchParams): Promise<string> {
    const { signIn } = found.guard
    const { scopeId, version } = signIn
    const state = this.#options.tickets.openState(signIn.readRelayState(form))
    // Compared by what they are: endpoints that share an address have a guard each.
    const isServedBy = (guard: LoginGuard | undefined) =>
      guard?.scopeId === scopeId && guard.version === version
    if (state === undefined) {
      const serves = (origin: string, path: string) =>
        isServedBy(this.#findGuard(runtime, { origin, path })?.guard)
      return signIn.consumeUnsolicited(form, serves).catch(recordFor(found))
    }
    if (state.scopeId !== scopeId) throw new SignInError('other_page')
    return this.#goOn(runtime, state, (guard) => {
      if (!isServedBy(guard)) throw new SignInError('settings_changed')
      return signIn.consumeResponse(form, state)
    })
  }

  /**
   * Goes on with a sign-in at the guard that currently serves its page. A sign-in that was completed or took too long leads
   * back to the page, which knows who is signed in.
   */
  async #goOn(
    runtime: EdgeRuntime,
    state: SignInState,
    complete: (guard: LoginGuard) => Promise<string>,
  ): Promise<string> {
    const { origin, path, returnTo = '/' } = state
    const found = this.#findGuard(runtime, state)
    if (found === undefined || found.guard.scopeId !== state.scopeId)
      throw new SignInError('settings_changed')
    const { guard, place } = found
    const url = toLocation(origin, returnTo)
    if (this.#options.tickets.isExpired(state)) return url
    try {
      if (guard.version !== state.version) throw new SignInError('settings_changed')
      return await complete(guard)
    } catch (error) {
      if (!(error instanceof SignInError)) throw error
      if (error.failure === 'completed') return url
      guard.failures.add(error, guard.signIn.provider, place)
      throw toEdgeError(error, { place, url, switchUrl: toLocation(origin, switchTarget(path, returnTo)) })
    }
  }

  /** The SAML service provider of a route or endpoint in the current routing table, with its guard. */
  #findSamlGuard(runtime: EdgeRuntime, name: string): SamlGuard | undefined {
    const isWanted = ({ signIn }: LoginGuard) => signIn instanceof SamlServiceProvider && signIn.name === name
    return this.#findGuardNamed(runtime, name, isWanted) as SamlGuard | undefined
  }

  /** The guard of a route with this id, or of an endpoint with this host. */
  #findGuardNamed(
    { table }: EdgeRuntime,
    name: string,
    isWanted: (guard: LoginGuard) => boolean,
  ): FoundGuard | undefined {
    const httpHost = table.http('https', name) ?? table.http('http', name)
    const route = table.route(name) ?? httpHost?.routeFor('/')
    return this.#guardOf(httpHost, route, { origin: '', isWanted })
  }

  /** The guard that currently serves this origin and path, and where that is. */
  #findGuard(
    { table }: EdgeRuntime,
    { origin, path }: Pick<SignInOrigin, 'origin' | 'path'>,
  ): FoundGuard | undefined {
    const [scheme, authority = ''] = origin.split('://')
    const { host } = parseHostPort(authority) ?? {}
    if (host === undefined) return undefined
    try {
      const httpHost = table.http(scheme === 'https' ? 'https' : 'http', host)
      return this.#guardOf(httpHost, httpHost?.routeFor(path), { origin })
    } catch {
      // No route has this path.
      return undefined
    }
  }

  /** The guard among the steps of a route and those inside its policy that sign visitors in. */
  #guardOf(
    httpHost: HttpHost | undefined,
    route: HttpRoute | undefined,
    { origin, isWanted = () => true }: { origin: string; isWanted?: (guard: LoginGuard) => boolean },
  ): FoundGuard | undefined {
    const guard = [...(route?.steps ?? []), ...(route?.signIns ?? [])]
      .map((step) => this.#options.guards.get(step))
      .find((each) => each !== undefined && isWanted(each))
    return guard && { guard, place: describePlace({ httpHost, route }, origin) }
  }
}

/** A guard that serves an address, and where that is. */
interface FoundGuard<S extends SignIn = SignIn> {
  readonly guard: LoginGuard<S>
  readonly place: FailurePlace
}

type SamlGuard = FoundGuard<SamlServiceProvider>

interface SamlUrl {
  readonly endpoint: string | undefined
  readonly search: string
}

/** Tells the owner of a guard why a message that answers no sign-in was rejected. */
function recordFor({ guard, place }: FoundGuard): (error: unknown) => never {
  return (error) => {
    if (error instanceof SignInError) guard.failures.add(error, guard.signIn.provider, place)
    throw error
  }
}

/** A message that belongs to no page is a matter of its sender alone. */
function rejectUnknown(error: unknown): never {
  throw error instanceof SignInError ? toEdgeError(error, undefined) : error
}

/** The token of a form, in which it is once. */
async function readLogoutToken(exchange: Exchange): Promise<string> {
  const [mediaType = ''] = (exchange.fields.get('content-type') ?? '').toLowerCase().split(';', 1)
  const type = trimOws(mediaType)
  const form = await readForm(exchange, MAX_LOGOUT_BYTES)
  const [token, ...others] = form.getAll('logout_token')
  if (type === 'application/x-www-form-urlencoded' && token !== undefined && others.length === 0) return token
  throw new SignInError('logout_invalid', { cause: new Error('it is no form with one logout_token') })
}

/** What a provider gets, which no cache may keep. */
function backchannelResponse(status: 200 | 400, body: string): EdgeResponse {
  const type = body === '' ? '' : 'Content-Type: application/json\r\n'
  return { status, fields: `${type}Cache-Control: no-store\r\n`, body: Buffer.from(body) }
}

async function readForm(exchange: Exchange, maxBytes = MAX_FORM_BYTES): Promise<URLSearchParams> {
  return new URLSearchParams(((await holdBody(exchange, maxBytes)) ?? '').toString())
}
