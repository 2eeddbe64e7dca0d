import type { JSONWebKeySet } from 'jose'
import type { Outbound, OutboundRequest } from '../../../base/outbound/outbound.ts'
import type { Clock } from '../../../base/values/clock.ts'
import { SignInError } from '../sign-in.ts'
import { createProviderFetch, type ProviderFetch } from './provider-fetch.ts'

const DISCOVERY_TTL_MS = 60 * 60 * 1000
const KEYS_TTL_MS = 5 * 60 * 1000
/** Minimum interval between key fetches for unknown key ids, which anyone can make up. */
const UNKNOWN_KEY_INTERVAL_MS = 60 * 1000
/** Documents are cached per route and parsed at every sign-in. */
const MAX_DOCUMENT_CHARACTERS = 256 * 1024

interface CachedDocument {
  readonly text: string
  readonly fetchedAt: number
}

/** A document a provider publishes. Concurrent callers share one request. */
class PublishedDocument {
  readonly #clock: Clock
  readonly #fetch: ProviderFetch
  #document: CachedDocument | undefined
  #pending: Promise<CachedDocument> | undefined

  constructor(clock: Clock, fetch: ProviderFetch) {
    this.#clock = clock
    this.#fetch = fetch
  }

  get text(): string | undefined {
    return this.#document?.text
  }

  /** The cached document, unless it is older than this. */
  freshText(ttlMs: number): string | undefined {
    const isFresh = this.#document !== undefined && this.#clock.monotonic() - this.#document.fetchedAt < ttlMs
    return isFresh ? this.#document?.text : undefined
  }

  invalidate(): void {
    this.#document = undefined
  }

  async fetch(url: string, init: OutboundRequest): Promise<Response> {
    this.#pending ??= this.#load(url, init).finally(() => {
      this.#pending = undefined
    })
    return toJsonResponse((await this.#pending).text)
  }

  async #load(url: string, init: OutboundRequest): Promise<CachedDocument> {
    const response = await this.#fetch(url, init)
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}`)
    const text = await response.text()
    if (text.length > MAX_DOCUMENT_CHARACTERS)
      throw new SignInError('provider_down', { cause: new Error(`${url} answered with too much`) })
    const document = { text, fetchedAt: this.#clock.monotonic() }
    this.#document = document
    return document
  }
}

/** The cached discovery document and keys of an OpenID provider. */
export interface ProviderDocuments {
  /** A `fetch` for one sign-in. It sees the token response and therefore knows which key is needed. */
  fetchForSignIn(): ProviderFetch
  /** The keys of the provider, newer ones where this key is not among them. */
  loadKeys(jwksUri: string, kid: string | undefined): Promise<JSONWebKeySet>
  /** Drops an unusable discovery document, so that the next sign-in fetches it again. */
  invalidateDiscovery(): void
}

/** Caches the discovery document, and the keys until a token names an unknown one. */
export function createProviderDocuments(options: {
  outbound: Pick<Outbound, 'fetch'>
  clock: Clock
}): ProviderDocuments {
  const { clock } = options
  const fetch = createProviderFetch(options.outbound)
  const discovery = new PublishedDocument(clock, fetch)
  const keys = new PublishedDocument(clock, fetch)
  let lastKeyLookup = Number.NEGATIVE_INFINITY

  function keysFor(
    kid: string | undefined,
    url: string,
    init: OutboundRequest,
  ): Promise<Response> | Response {
    // A token without a key id cannot reveal that there is a new key.
    const cached = keys.freshText(kid === undefined ? UNKNOWN_KEY_INTERVAL_MS : KEYS_TTL_MS)
    if (cached === undefined) return keys.fetch(url, init)
    const hasKey = kid === undefined || parseKeyIds(cached).includes(kid)
    if (hasKey || clock.monotonic() - lastKeyLookup < UNKNOWN_KEY_INTERVAL_MS) return toJsonResponse(cached)
    lastKeyLookup = clock.monotonic()
    return keys.fetch(url, init)
  }

  function fetchForSignIn(): ProviderFetch {
    let kid: string | undefined
    return async (url, init = {}) => {
      if (init.method === 'GET' && url.endsWith('/.well-known/openid-configuration')) {
        const cached = discovery.freshText(DISCOVERY_TTL_MS)
        return cached === undefined ? discovery.fetch(url, init) : toJsonResponse(cached)
      }
      if (init.method === 'GET' && discovery.text !== undefined && url === parseJwksUri(discovery.text))
        return keysFor(kid, url, init)
      const response = await fetch(url, init)
      const text = await response.text()
      kid = parseTokenKeyId(text) ?? kid
      const answer = new Response([204, 304].includes(response.status) ? null : text, response)
      // Where there is a challenge, the library does not read what the provider says in the body.
      if ('error' in parseObject(text)) answer.headers.delete('www-authenticate')
      return answer
    }
  }

  return {
    fetchForSignIn,
    async loadKeys(jwksUri, kid) {
      const response = await keysFor(kid, new URL(jwksUri).href, { method: 'GET' })
      return (await response.json()) as JSONWebKeySet
    },
    invalidateDiscovery: () => discovery.invalidate(),
  }
}

function toJsonResponse(text: string): Response {
  return new Response(text, { headers: { 'content-type': 'application/json' } })
}

function parseObject(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function parseJwksUri(description: string): string | undefined {
  const { jwks_uri: uri } = parseObject(description)
  return typeof uri === 'string' ? URL.parse(uri)?.href : undefined
}

function parseKeyIds(jwks: string): unknown[] {
  const { keys } = parseObject(jwks)
  return Array.isArray(keys) ? keys.map((key: { kid?: unknown } | null) => key?.kid) : []
}

/** The key id in the header of the ID token; the signature is verified elsewhere. */
function parseTokenKeyId(response: string): string | undefined {
  const { id_token: token } = parseObject(response)
  if (typeof token !== 'string') return undefined
  const { kid } = parseObject(Buffer.from(token.split('.', 1)[0]!, 'base64url').toString())
  return typeof kid === 'string' ? kid : undefined
}
