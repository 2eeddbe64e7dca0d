import { type Answer, page, pageFields, redirect } from '../answer.ts'
import type { Exchange } from '../exchange.ts'
import { holdBody } from '../held-body.ts'
import { refusal } from '../refusals.ts'
import { type HttpEntry, newCounters, type Route } from '../table.ts'
import type { TlsPolicy } from '../tls-policy.ts'
import { newTraffic } from '../traffic.ts'
import { callbackAt, type State } from './gate.ts'
import type { SamlPlace } from './saml.ts'
import type { Seal } from './seal.ts'
import { SignInRefused } from './sign-in.ts'

/** Where providers of every kind send visitors back to, so that one address can be registered with them. */
export const PROVIDER_CALLBACK = '/oauth2/callback'
const FORM_LIMIT = 512 * 1024
const SAML_PATH = /^\/saml\/(edghtsrt_[0-9A-Za-z]{27})(\/acs|\/slo)?$/

/** The host that log-ins come back to. It keeps nothing: it hands visitors on to the place a sealed state names. */
export function loginHost(options: {
  policy: TlsPolicy
  seal: Seal
  places: ReadonlyMap<string, WeakRef<SamlPlace>>
}): HttpEntry {
  const { seal, places } = options
  const route: Route = {
    id: 'login',
    admission: undefined,
    steps: [(exchange) => answer(exchange).catch(denied)],
    backend: () => undefined,
    counters: newCounters(),
  }

  async function answer(exchange: Exchange): Promise<Answer> {
    const { method, target } = exchange.head
    const url = new URL(target, 'https://host')
    if (url.pathname === PROVIDER_CALLBACK && method === 'GET') return handOn(url.searchParams)
    const [, placeId, part] = SAML_PATH.exec(url.pathname) ?? []
    const place = placeId === undefined ? undefined : places.get(placeId)?.deref()
    if (place === undefined) throw refusal('endpoint_not_found', exchange.head.host)
    if (part === undefined && method === 'GET')
      return {
        status: 200,
        fields: 'Content-Type: application/samlmetadata+xml\r\n',
        body: Buffer.from(place.metadata()),
      }
    if (part === '/acs' && method === 'POST') {
      const serves = (host: string, path: string) => routeIdAt(exchange, host, path) === placeId
      return redirect(303, await place.consume(await formOf(exchange), serves))
    }
    if (part === '/slo' && (method === 'GET' || method === 'POST')) {
      const next =
        method === 'GET'
          ? await place.logout(url.search.slice(1))
          : await place.logoutPosted(await formOf(exchange))
      if (next !== undefined) return redirect(303, next)
      return {
        status: 200,
        fields: pageFields,
        body: page('You are signed out.', 'You can close this page.'),
      }
    }
    throw refusal('method_refused', method)
  }

  function handOn(query: URLSearchParams): Answer {
    const state = seal.open<State>('state', query.get('state') ?? '')
    if (state === undefined) throw new SignInRefused('this sign-in did not begin here')
    return redirect(302, callbackAt(state, query))
  }

  return {
    kind: 'http',
    id: 'login',
    accountId: '',
    traffic: newTraffic(),
    policy: options.policy,
    redirectToHttps: false,
    routeFor: () => route,
  }
}

async function formOf(exchange: Exchange): Promise<URLSearchParams> {
  return new URLSearchParams(((await holdBody(exchange, FORM_LIMIT)) ?? '').toString())
}

/** Who answers for an address of this edge. */
function routeIdAt({ core }: Exchange, host: string, path: string): string | undefined {
  try {
    return core.table.http('https', host)?.routeFor(path).id
  } catch {
    return undefined
  }
}

function denied(error: unknown): never {
  throw error instanceof SignInRefused ? refusal('login_denied', error.message) : error
}
