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

/** The discovery document of an OpenID provider, and its keys until a token names an unknown one; both are cached. */
export class ProviderDocuments {
  readonly #clock: Clock
  readonly #fetch: ProviderFetch
  readonly #discovery: PublishedDocument
  readonly #keys: PublishedDocument
  #lastKeyLookup = Number.NEGATIVE_INFINITY

  constructor({ outbound, clock }: { readonly outbound: Pick<Outbound, 'fetch'>; readonly clock: Clock }) {
    this.#clock = clock
    this.#fetch = createProviderFetch(outbound)
    this.#discovery = new PublishedDocument(clock, this.#fetch)
    this.#keys = new PublishedDocument(clock, this.#fetch)
  }

  /** A `fetch` for one sign-in. It sees the token response and therefore knows which key is needed. */
  fetchForSignIn(): ProviderFetch {
    let kid: string | undefined
    return async (url, init = {}) => {
      if (init.method === 'GET' && url.endsWith('/.well-known/openid-configuration')) {
        const cached = this.#discovery.freshText(DISCOVERY_TTL_MS)
        return cached === undefined ? this.#discovery.fetch(url, init) : toJsonResponse(cached)
      }
      const description = this.#discovery.text
      if (init.method === 'GET' && description !== undefined && url === parseJwksUri(description))
        return this.#keysFor(kid, url, init)
      const response = await this.#fetch(url, init)
      const text = await response.text()
      kid = parseTokenKeyId(text) ?? kid
      const answer = new Response([204, 304].includes(response.status) ? null : text, response)
      // Where there is a challenge, the library does not read what the provider says in the body.
      if ('error' in parseObject(text)) answer.headers.delete('www-authenticate')
      return answer
    }
  }

  /** The keys of the provider, newer ones where this key is not among them. */
  async loadKeys(jwksUri: string, kid: string | undefined): Promise<JSONWebKeySet> {
    const response = await this.#keysFor(kid, new URL(jwksUri).href, { method: 'GET' })
    return (await response.json()) as JSONWebKeySet
  }

  /** Drops an unusable discovery document, so that the next sign-in fetches it again. */
  invalidateDiscovery(): void {
    this.#discovery.invalidate()
  }

  #keysFor(kid: string | undefined, url: string, init: OutboundRequest): Promise<Response> | Response {
    // A token without a key id cannot reveal that there is a new key.
    const cached = this.#keys.freshText(kid === undefined ? UNKNOWN_KEY_INTERVAL_MS : KEYS_TTL_MS)
    if (cached === undefined) return this.#keys.fetch(url, init)
    const hasKey = kid === undefined || parseKeyIds(cached).includes(kid)
    const now = this.#clock.monotonic()
    if (hasKey || now - this.#lastKeyLookup < UNKNOWN_KEY_INTERVAL_MS) return toJsonResponse(cached)
    this.#lastKeyLookup = now
    return this.#keys.fetch(url, init)
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
