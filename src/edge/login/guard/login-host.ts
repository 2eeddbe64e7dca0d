import { trimOws } from '../../../base/http/optional-white-space.ts'
import { parseHostPort } from '../../../base/values/hostport.ts'
import type { Exchange } from '../../contracts/exchange.ts'
import { holdBody } from '../../contracts/held-body.ts'
import type { RequestStep } from '../../contracts/module.ts'
import type { EdgeRuntime } from '../../contracts/runtime.ts'
import { createCounters, type HttpHost, type HttpRoute } from '../../contracts/table.ts'
import type { TlsPolicy } from '../../contracts/tls-policy.ts'
import { edgeError } from '../../errors.ts'
import { pageFields, renderPage } from '../../response/pages.ts'
import { type EdgeResponse, redirect } from '../../response/response.ts'
import { logoutTarget, switchTarget } from '../../sign-in-target.ts'
import { createAccountTraffic } from '../../stats/traffic.ts'
import { isProviderCallback } from '../callback-paths.ts'
import { type FailurePlace, toEdgeError } from '../provider/failure-log.ts'
import { withTimeout } from '../provider/provider-fetch.ts'
import { toLocation } from '../return-to.ts'
import type { SamlServiceProvider } from '../saml/saml.ts'
import type { ReplayGuard } from '../sessions/replay-guard.ts'
import { describePlace } from '../sessions/session-details.ts'
import {
  MAX_STATE_SECONDS,
  type SignInOrigin,
  type SignInState,
  type SignOutState,
  type Tickets,
} from '../sessions/tickets.ts'
import { SignInError } from '../sign-in.ts'
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

/**
 * The host that providers redirect visitors back to. It redeems their responses with the module that the sealed state
 * names, as currently configured, and sends the result to the route as a ticket.
 */
export function createLoginHost(options: {
  tlsPolicy: TlsPolicy
  tickets: Tickets
  replayGuard: ReplayGuard
  /** The guard of a route's step. */
  guards: Pick<WeakMap<RequestStep, LoginGuard>, 'get'>
  /** The SAML service provider of a route's step. */
  samlProviders: Pick<WeakMap<RequestStep, SamlServiceProvider>, 'get'>
  limit: CallbackLimit
  /** How long a visitor waits for the provider. */
  providerTimeoutMs: number
}): HttpHost {
  const { tickets, replayGuard, guards, samlProviders, limit, providerTimeoutMs } = options
  const route: HttpRoute = {
    id: 'login',
    connectionSteps: undefined,
    steps: [(exchange) => handle(exchange).catch(rejectUnknown)],
    backend: () => undefined,
    counters: createCounters(),
  }

  async function handle(exchange: Exchange): Promise<EdgeResponse> {
    const { method, target } = exchange.head
    const { remoteAddress } = exchange.connection
    const url = URL.parse(target, 'https://host')
    if (url === null) throw edgeError('endpoint_not_found', exchange.head.host)
    if (isProviderCallback(url.pathname)) {
      if (method !== 'GET') throw edgeError('method_refused', method)
      const signOut = tickets.openSignOut(url.searchParams.get('state') ?? '')
      if (signOut !== undefined) return redirect(303, signedOutUrl(exchange.runtime, signOut))
      return redirect(303, await redeemCode(exchange.runtime, url))
    }
    const [, page] = BACKCHANNEL_LOGOUT_PATH.exec(url.pathname) ?? []
    if (page !== undefined) return endSessions(exchange, page)
    const [, name, endpoint] = SAML_PATH.exec(url.pathname) ?? []
    const service = name === undefined ? undefined : findSamlService(exchange.runtime, name)
    if (service === undefined) throw edgeError('endpoint_not_found', exchange.head.host)
    const { samlProvider } = service
    if (endpoint === undefined && method === 'GET')
      return {
        status: 200,
        fields: 'Content-Type: application/samlmetadata+xml\r\n',
        body: Buffer.from(await samlProvider.metadata()),
      }
    if (endpoint === '/acs' && method === 'POST')
      return limit(remoteAddress, async () =>
        redirect(303, await consumeResponse(exchange.runtime, service, await readForm(exchange))),
      )
    if (endpoint === '/slo' && (method === 'GET' || method === 'POST')) {
      const location = await limit(remoteAddress, async () =>
        method === 'GET'
          ? samlProvider.logoutQuery(url.search.slice(1))
          : samlProvider.logoutForm(await readForm(exchange)),
      ).catch(recordFor(service))
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
  function redeemCode(runtime: EdgeRuntime, { pathname: path, searchParams: query }: URL): Promise<string> {
    // RFC 6749 section 3.1: parameters must not repeat, because two parsers might pick different ones.
    if (new Set(query.keys()).size !== query.size) throw new SignInError('response_invalid')
    const sealedState = query.get('state') ?? ''
    const state = tickets.openState(sealedState)
    if (state === undefined) throw new SignInError('not_started_here')
    return goOn(runtime, state, async ({ signIn, selectTokens }) => {
      if (!replayGuard.consume(`state ${state.signInId}`, MAX_STATE_SECONDS * 1000))
        throw new SignInError('completed')
      // With the client, PKCE verifier and nonce of the module that started the sign-in, so that a code and a state that
      // do not belong together fail.
      const completing = signIn.complete({ path, query, state: sealedState }, state)
      const { grant, identity } = await withTimeout(completing, providerTimeoutMs)
      const tokens = selectTokens(grant)
      return tickets.ticketUrl(state, identity, { returnTo: state.returnTo ?? '', ...(tokens && { tokens }) })
    })
  }

  /** Where a visitor goes on who has signed out at the provider: the page that says so. */
  function signedOutUrl(runtime: EdgeRuntime, state: SignOutState): string {
    const { origin, path, scopeId } = state
    if (findGuard(runtime, state)?.guard.scopeId !== scopeId) throw new SignInError('settings_changed')
    return toLocation(origin, logoutTarget(path))
  }

  /** Ends the sessions that a logout token names: OpenID Connect Back-Channel Logout 1.0 section 2.8. */
  async function endSessions(exchange: Exchange, page: string): Promise<EdgeResponse> {
    const found = findGuardNamed(exchange.runtime, page, ({ signIn }) => signIn.endSessions !== undefined)
    if (found === undefined) throw edgeError('endpoint_not_found', exchange.head.host)
    if (exchange.head.method !== 'POST') throw edgeError('method_refused', exchange.head.method)
    try {
      await limit(exchange.connection.remoteAddress, async () =>
        found.guard.signIn.endSessions!(await readLogoutToken(exchange)),
      ).catch(recordFor(found))
      return backchannelResponse(200, '')
    } catch (error) {
      if (!(error instanceof SignInError) || error.failure !== 'logout_invalid') throw error
      return backchannelResponse(400, JSON.stringify({ error: 'invalid_request' }))
    }
  }

  /** Consumes a SAML response; returns where the visitor goes on. */
  function consumeResponse(
    runtime: EdgeRuntime,
    service: SamlService,
    form: URLSearchParams,
  ): Promise<string> {
    const { samlProvider } = service
    const { scopeId, version } = samlProvider
    const state = tickets.openState(samlProvider.readRelayState(form))
    // Compared by what they are: endpoints that share an address have a guard each.
    const isServedBy = (guard: LoginGuard | undefined) =>
      guard?.scopeId === scopeId && guard.version === version
    if (state === undefined) {
      const serves = (origin: string, path: string) => isServedBy(findGuard(runtime, { origin, path })?.guard)
      return samlProvider.consumeUnsolicited(form, serves).catch(recordFor(service))
    }
    if (state.scopeId !== scopeId) throw new SignInError('other_page')
    return goOn(runtime, state, (guard) => {
      if (!isServedBy(guard)) throw new SignInError('settings_changed')
      return samlProvider.consumeResponse(form, state)
    })
  }

  /**
   * Goes on with a sign-in at the guard that currently serves its page. A sign-in that was completed or took too long leads
   * back to the page, which knows who is signed in.
   */
  async function goOn(
    runtime: EdgeRuntime,
    state: SignInState,
    complete: (guard: LoginGuard) => Promise<string>,
  ): Promise<string> {
    const { origin, path, returnTo = '/' } = state
    const found = findGuard(runtime, state)
    if (found === undefined || found.guard.scopeId !== state.scopeId)
      throw new SignInError('settings_changed')
    const { guard, place } = found
    const url = toLocation(origin, returnTo)
    if (tickets.isExpired(state)) return url
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

  /** The SAML service provider of a route or endpoint in the current routing table. */
  function findSamlService(runtime: EdgeRuntime, name: string): SamlService | undefined {
    const found = findGuardNamed(runtime, name, ({ step }) => samlProviders.get(step)?.name === name)
    return found && { ...found, samlProvider: samlProviders.get(found.guard.step)! }
  }

  /** The guard of a route with this id, or of an endpoint with this host. */
  function findGuardNamed(
    { table }: EdgeRuntime,
    name: string,
    isWanted: (guard: LoginGuard) => boolean,
  ): NamedGuard | undefined {
    const httpHost = table.http('https', name) ?? table.http('http', name)
    const route = table.route(name) ?? httpHost?.routeFor('/')
    const guard = stepsOf(route)
      .map((step) => guards.get(step))
      .find((each) => each !== undefined && isWanted(each))
    return guard && { guard, place: describePlace({ httpHost, route }, '') }
  }

  /** The guard that currently serves this origin and path, and where that is. */
  function findGuard({ table }: EdgeRuntime, { origin, path }: Pick<SignInOrigin, 'origin' | 'path'>) {
    const [scheme, authority = ''] = origin.split('://')
    const { host } = parseHostPort(authority) ?? {}
    if (host === undefined) return undefined
    try {
      const httpHost = table.http(scheme === 'https' ? 'https' : 'http', host)
      const route = httpHost?.routeFor(path)
      const guard = stepsOf(route)
        .map((step) => guards.get(step))
        .find((each) => each !== undefined)
      return guard && { guard, place: describePlace({ httpHost, route }, origin) }
    } catch {
      // No route has this path.
      return undefined
    }
  }

  return {
    kind: 'http',
    id: 'login',
    accountId: '',
    traffic: createAccountTraffic(),
    tlsPolicy: options.tlsPolicy,
    redirectToHttps: false,
    routeFor: () => route,
  }
}

/** A guard that an address of the login host names. */
interface NamedGuard {
  readonly guard: LoginGuard
  readonly place: FailurePlace
}

/** A SAML service provider, with the guard that it serves. */
interface SamlService extends NamedGuard {
  readonly samlProvider: SamlServiceProvider
}

/** Tells the owner of a guard why a message that answers no sign-in was rejected. */
function recordFor({ guard, place }: NamedGuard): (error: unknown) => never {
  return (error) => {
    if (error instanceof SignInError) guard.failures.add(error, guard.signIn.provider, place)
    throw error
  }
}

/** A message that belongs to no page is a matter of its sender alone. */
function rejectUnknown(error: unknown): never {
  throw error instanceof SignInError ? toEdgeError(error, undefined) : error
}

/** The steps of a route, with those inside its policy that sign visitors in. */
function stepsOf(route: HttpRoute | undefined): RequestStep[] {
  return [...(route?.steps ?? []), ...(route?.signIns ?? [])]
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
