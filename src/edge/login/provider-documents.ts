import type { Clock } from '../../base/clock.ts'
import type { Outbound, OutboundRequest } from '../../base/outbound/outbound.ts'
import { createProviderFetch, type ProviderFetch } from './provider-fetch.ts'
import { ProviderUnavailable } from './sign-in.ts'

const DISCOVERY_TTL_MS = 60 * 60 * 1000
const KEYS_TTL_MS = 5 * 60 * 1000
/** Tokens that name made-up keys must not make us call the provider each time. */
const UNKNOWN_KEY_INTERVAL_MS = 60 * 1000
/** They stay in memory for every route, and are read at every sign-in. */
const MAX_DOCUMENT_CHARACTERS = 256 * 1024

interface CachedDocument {
  readonly text: string
  readonly fetchedAt: number
}

/** Something a provider publishes. All who need it at the same time wait for one call. */
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

  isFresh(ttlMs: number): boolean {
    return this.#document !== undefined && this.#clock.monotonic() - this.#document.fetchedAt < ttlMs
  }

  invalidate(): void {
    this.#document = undefined
  }

  /** The document as it is kept. */
  toResponse(): Response {
    return toJsonResponse(this.#document!.text)
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
      throw new ProviderUnavailable({ cause: new Error(`${url} answered with too much`) })
    const document = { text, fetchedAt: this.#clock.monotonic() }
    this.#document = document
    return document
  }
}

/** What an OpenID provider publishes about itself, kept for a while. */
export interface ProviderDocuments {
  /** A `fetch` for one sign-in, which sees the token and so knows which key it needs. */
  fetchForSignIn(): ProviderFetch
  /** The description cannot be used: the next sign-in asks for it again. */
  invalidateDiscovery(): void
}

/** Keeps the description of a provider, and its keys until a token names one that is not among them. */
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
    // A token that names no key cannot tell that there is a new one.
    if (kid === undefined)
      return keys.isFresh(UNKNOWN_KEY_INTERVAL_MS) ? keys.toResponse() : keys.fetch(url, init)
    if (!keys.isFresh(KEYS_TTL_MS)) return keys.fetch(url, init)
    const hasKey = parseKeyIds(keys.text!).includes(kid)
    if (hasKey || clock.monotonic() - lastKeyLookup < UNKNOWN_KEY_INTERVAL_MS) return keys.toResponse()
    lastKeyLookup = clock.monotonic()
    return keys.fetch(url, init)
  }

  function fetchForSignIn(): ProviderFetch {
    let kid: string | undefined
    return async (url, init = {}) => {
      if (init.method === 'GET' && url.endsWith('/.well-known/openid-configuration'))
        return discovery.isFresh(DISCOVERY_TTL_MS) ? discovery.toResponse() : discovery.fetch(url, init)
      if (init.method === 'GET' && discovery.text !== undefined && url === parseJwksUri(discovery.text))
        return keysFor(kid, url, init)
      const response = await fetch(url, init)
      const text = await response.text()
      kid = parseTokenKeyId(text) ?? kid
      return new Response([204, 304].includes(response.status) ? null : text, response)
    }
  }

  return { fetchForSignIn, invalidateDiscovery: () => discovery.invalidate() }
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

/** The key that the ID token of a token answer says it is signed with; whether that is so is checked by others. */
function parseTokenKeyId(answer: string): string | undefined {
  const { id_token: token } = parseObject(answer)
  if (typeof token !== 'string') return undefined
  const { kid } = parseObject(Buffer.from(token.split('.', 1)[0]!, 'base64url').toString())
  return typeof kid === 'string' ? kid : undefined
}
