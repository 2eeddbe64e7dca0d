import type { Clock } from '../../base/clock.ts'
import type { Outbound, OutboundRequest } from '../../base/outbound/outbound.ts'
import { type Fetch, providerFetch } from './provider-fetch.ts'
import { ProviderUnavailable } from './sign-in.ts'

const DESCRIPTION_MS = 60 * 60 * 1000
const KEYS_MS = 5 * 60 * 1000
/** Tokens that name made-up keys must not make us call the provider each time. */
const UNKNOWN_KEY_MS = 60 * 1000
/** They stay in memory for every route, and are read at every sign-in. */
const MAX_DOCUMENT_CHARACTERS = 256 * 1024

interface Document {
  readonly text: string
  readonly at: number
}

/** Something a provider publishes. All who need it at the same time wait for one call. */
class Published {
  readonly #clock: Clock
  readonly #fetch: Fetch
  #document: Document | undefined
  #pending: Promise<Document> | undefined

  constructor(clock: Clock, fetch: Fetch) {
    this.#clock = clock
    this.#fetch = fetch
  }

  get text(): string | undefined {
    return this.#document?.text
  }

  isFresh(forMs: number): boolean {
    return this.#document !== undefined && this.#clock.monotonic() - this.#document.at < forMs
  }

  forget(): void {
    this.#document = undefined
  }

  /** The document as it is kept. */
  kept(): Response {
    return answered(this.#document!.text)
  }

  async fetch(url: string, init: OutboundRequest): Promise<Response> {
    this.#pending ??= this.#load(url, init).finally(() => {
      this.#pending = undefined
    })
    return answered((await this.#pending).text)
  }

  async #load(url: string, init: OutboundRequest): Promise<Document> {
    const response = await this.#fetch(url, init)
    if (response.status !== 200) throw new Error(`${url} answered ${response.status}`)
    const text = await response.text()
    if (text.length > MAX_DOCUMENT_CHARACTERS)
      throw new ProviderUnavailable({ cause: new Error(`${url} answered with too much`) })
    const document = { text, at: this.#clock.monotonic() }
    this.#document = document
    return document
  }
}

/** What an OpenID provider publishes about itself, kept for a while. */
export interface ProviderDocuments {
  /** A `fetch` for one sign-in, which sees the token and so knows which key it needs. */
  fetchForSignIn(): Fetch
  /** The description cannot be used: the next sign-in asks for it again. */
  rejectDescription(): void
}

/** Keeps the description of a provider, and its keys until a token names one that is not among them. */
export function createProviderDocuments(options: {
  outbound: Pick<Outbound, 'fetch'>
  clock: Clock
}): ProviderDocuments {
  const { clock } = options
  const fetch = providerFetch(options.outbound)
  const description = new Published(clock, fetch)
  const keys = new Published(clock, fetch)
  let soughtAt = Number.NEGATIVE_INFINITY

  function keysFor(
    kid: string | undefined,
    url: string,
    init: OutboundRequest,
  ): Promise<Response> | Response {
    // A token that names no key cannot tell that there is a new one.
    if (kid === undefined) return keys.isFresh(UNKNOWN_KEY_MS) ? keys.kept() : keys.fetch(url, init)
    if (!keys.isFresh(KEYS_MS)) return keys.fetch(url, init)
    const isKnown = keyIds(keys.text!).includes(kid)
    if (isKnown || clock.monotonic() - soughtAt < UNKNOWN_KEY_MS) return keys.kept()
    soughtAt = clock.monotonic()
    return keys.fetch(url, init)
  }

  function fetchForSignIn(): Fetch {
    let kid: string | undefined
    return async (url, init = {}) => {
      if (init.method === 'GET' && url.endsWith('/.well-known/openid-configuration'))
        return description.isFresh(DESCRIPTION_MS) ? description.kept() : description.fetch(url, init)
      if (init.method === 'GET' && description.text !== undefined && url === jwksUri(description.text))
        return keysFor(kid, url, init)
      const response = await fetch(url, init)
      const text = await response.text()
      kid = keyIdOf(text) ?? kid
      return new Response([204, 304].includes(response.status) ? null : text, response)
    }
  }

  return { fetchForSignIn, rejectDescription: () => description.forget() }
}

function answered(text: string): Response {
  return new Response(text, { headers: { 'content-type': 'application/json' } })
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
  } catch {
    return {}
  }
}

function jwksUri(description: string): string | undefined {
  const { jwks_uri: uri } = parsed(description)
  return typeof uri === 'string' ? URL.parse(uri)?.href : undefined
}

function keyIds(jwks: string): unknown[] {
  const { keys } = parsed(jwks)
  return Array.isArray(keys) ? keys.map((key: { kid?: unknown } | null) => key?.kid) : []
}

/** The key that the ID token of a token answer says it is signed with; whether that is so is checked by others. */
function keyIdOf(answer: string): string | undefined {
  const { id_token: token } = parsed(answer)
  if (typeof token !== 'string') return undefined
  const { kid } = parsed(Buffer.from(token.split('.', 1)[0]!, 'base64url').toString())
  return typeof kid === 'string' ? kid : undefined
}
