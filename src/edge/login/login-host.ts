import { parseHostPort } from '../../base/hostport.ts'
import type { Core } from '../core.ts'
import { edgeError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import { holdBody } from '../held-body.ts'
import type { RequestStep } from '../module.ts'
import { type EdgeResponse, redirect } from '../response.ts'
import { createCounters, type HttpEntry, type HttpRoute } from '../table.ts'
import type { TlsPolicy } from '../tls-policy.ts'
import { createAccountTraffic } from '../traffic.ts'
import { pageFields, renderPage } from '../visitor-page.ts'
import type { CallbackLimit } from './callback-limit.ts'
import { isProviderCallback } from './callback-paths.ts'
import type { Gate } from './gate.ts'
import { withTimeout } from './provider-fetch.ts'
import type { ReplayGuard } from './replay-guard.ts'
import type { SamlServiceProvider } from './saml.ts'
import { SignInError, throwLoginError } from './sign-in.ts'
import { MAX_STATE_SECONDS, type SignInOrigin, type Tickets } from './tickets.ts'

// The largest SAML message in base64, with room for percent-encoding and RelayState.
const MAX_FORM_BYTES = 256 * 1024
/** Of a route by its id, or of an endpoint by its host. */
const SAML_PATH = /^\/saml\/([^/]+)(\/acs|\/slo)?$/

/**
 * The host that providers redirect visitors back to. It redeems their responses with the module that the sealed state
 * names, as currently configured, and sends the result to the route as a ticket.
 */
export function createLoginHost(options: {
  policy: TlsPolicy
  tickets: Tickets
  replayGuard: ReplayGuard
  /** The gate of a route's step. */
  gates: Pick<WeakMap<RequestStep, Gate>, 'get'>
  /** The SAML service provider of a route's step. */
  samlProviders: Pick<WeakMap<RequestStep, SamlServiceProvider>, 'get'>
  limit: CallbackLimit
  /** How long a visitor waits for the provider. */
  providerTimeoutMs: number
}): HttpEntry {
  const { tickets, replayGuard, gates, samlProviders, limit, providerTimeoutMs } = options
  const route: HttpRoute = {
    id: 'login',
    admission: undefined,
    steps: [(exchange) => handle(exchange).catch(throwLoginError)],
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
      return redirect(303, await redeem(exchange.core, url))
    }
    const [, name, endpoint] = SAML_PATH.exec(url.pathname) ?? []
    const samlProvider = name === undefined ? undefined : findSamlProvider(exchange.core, name)
    if (samlProvider === undefined) throw edgeError('endpoint_not_found', exchange.head.host)
    if (endpoint === undefined && method === 'GET')
      return {
        status: 200,
        fields: 'Content-Type: application/samlmetadata+xml\r\n',
        body: Buffer.from(await samlProvider.metadata()),
      }
    if (endpoint === '/acs' && method === 'POST') {
      const { scopeId, version } = samlProvider
      // Compared by what they are: endpoints that share an address have a gate each.
      const serves = (origin: string, path: string) => {
        const gate = findGate(exchange.core, { origin, path })
        return gate?.scopeId === scopeId && gate.version === version
      }
      return limit(remoteAddress, async () =>
        redirect(303, await samlProvider.consumeResponse(await readForm(exchange), serves)),
      )
    }
    if (endpoint === '/slo' && (method === 'GET' || method === 'POST')) {
      const location = await limit(remoteAddress, async () =>
        method === 'GET'
          ? samlProvider.logoutQuery(url.search.slice(1))
          : samlProvider.logoutForm(await readForm(exchange)),
      )
      if (location !== undefined) return redirect(303, location)
      return {
        status: 200,
        fields: pageFields,
        body: renderPage('You are signed out.', 'You can close this page.'),
      }
    }
    throw edgeError('method_refused', method)
  }

  /**
   * Redeems an authorization code with the client, PKCE verifier and nonce of the module that started the sign-in, so
   * that a code and a state that do not belong together fail.
   */
  async function redeem(core: Core, { pathname: path, searchParams: query }: URL): Promise<string> {
    // RFC 6749 section 3.1: parameters must not repeat, because two parsers might pick different ones.
    if (new Set(query.keys()).size !== query.size)
      throw new SignInError('the response from the identity provider was not valid')
    const sealedState = query.get('state') ?? ''
    const state = tickets.openState(sealedState)
    if (state === undefined) throw new SignInError('this sign-in was not started here')
    const gate = findGate(core, state)
    if (gate === undefined || gate.scopeId !== state.scopeId || gate.version !== state.version)
      throw new SignInError('the page has changed since this sign-in began; open it again')
    if (!replayGuard.consume(`state ${state.signInId}`, MAX_STATE_SECONDS * 1000))
      throw new SignInError('this sign-in has already been completed; open the page again')
    const response = { path, query, state: sealedState }
    const completed = await withTimeout(gate.signIn.complete(response, state), providerTimeoutMs)
    const tokens = gate.selectTokens(completed.grant)
    return tickets.ticketUrl(state, completed.identity, { ...(tokens && { tokens }) })
  }

  /** The SAML service provider of a route or endpoint in the current routing table. */
  function findSamlProvider({ table }: Core, name: string): SamlServiceProvider | undefined {
    const route = table.route(name) ?? (table.http('https', name) ?? table.http('http', name))?.routeFor('/')
    return stepsOf(route)
      .map((step) => samlProviders.get(step))
      .find((samlProvider) => samlProvider?.name === name)
  }

  /** The gate that currently serves this origin and path. */
  function findGate(
    { table }: Core,
    { origin, path }: Pick<SignInOrigin, 'origin' | 'path'>,
  ): Gate | undefined {
    const [scheme, authority = ''] = origin.split('://')
    const { host } = parseHostPort(authority) ?? {}
    if (host === undefined) return undefined
    try {
      const route = table.http(scheme === 'https' ? 'https' : 'http', host)?.routeFor(path)
      return stepsOf(route)
        .map((step) => gates.get(step))
        .find((gate) => gate !== undefined)
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
    policy: options.policy,
    redirectToHttps: false,
    routeFor: () => route,
  }
}

/** The steps of a route, with those inside its policy that sign visitors in. */
function stepsOf(route: HttpRoute | undefined): RequestStep[] {
  return [...(route?.steps ?? []), ...(route?.signIns ?? [])]
}

async function readForm(exchange: Exchange): Promise<URLSearchParams> {
  return new URLSearchParams(((await holdBody(exchange, MAX_FORM_BYTES)) ?? '').toString())
}
