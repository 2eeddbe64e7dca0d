import type { Clock } from '../../base/clock.ts'
import type { Outbound } from '../../base/outbound.ts'

const DESCRIPTION_MS = 60 * 60 * 1000
const KEYS_MS = 5 * 60 * 1000
/** Tokens that name made-up keys must not make us call the provider each time. */
const UNKNOWN_KEY_MS = 60 * 1000

type Fetch = (url: string, init: RequestInit) => Promise<Response>

interface Kept {
  readonly text: string
  readonly at: number
}

/**
 * What an OpenID provider publishes about itself, kept for a while: its description, and its keys until a token names
 * one that is not among them. Makes a `fetch` for one sign-in, which sees the token and so knows which key it needs.
 */
export function createProviderDocuments(options: {
  outbound: Pick<Outbound, 'fetch'>
  clock: Clock
}): () => Fetch {
  const { clock } = options
  const outside = options.outbound.fetch as unknown as Fetch
  let description: Kept | undefined
  let keys: Kept | undefined
  let soughtAt = Number.NEGATIVE_INFINITY

  async function fetchKept(url: string, init: RequestInit, keep: (kept: Kept) => void): Promise<Response> {
    const response = await outside(url, init)
    const text = await response.text()
    if (response.status === 200) keep({ text, at: clock.monotonic() })
    return answered(text, response.status)
  }

  const isFresh = (kept: Kept | undefined, forMs: number): kept is Kept =>
    kept !== undefined && clock.monotonic() - kept.at < forMs

  function keysFor(kid: string | undefined, url: string, init: RequestInit): Promise<Response> | Response {
    if (isFresh(keys, KEYS_MS)) {
      const known = kid === undefined || keyIds(keys.text).includes(kid)
      if (known || clock.monotonic() - soughtAt < UNKNOWN_KEY_MS) return answered(keys.text, 200)
      soughtAt = clock.monotonic()
    }
    return fetchKept(url, init, (kept) => {
      keys = kept
    })
  }

  return () => {
    let kid: string | undefined
    return async (url, init) => {
      if (init.method === 'GET' && url.endsWith('/.well-known/openid-configuration'))
        return isFresh(description, DESCRIPTION_MS)
          ? answered(description.text, 200)
          : fetchKept(url, init, (kept) => {
              description = kept
            })
      if (init.method === 'GET' && description !== undefined && url === jwksUri(description.text))
        return keysFor(kid, url, init)
      const response = await outside(url, init)
      const text = await response.text()
      kid = keyIdOf(text) ?? kid
      return new Response([204, 304].includes(response.status) ? null : text, response)
    }
  }
}

function answered(text: string, status: number): Response {
  return new Response(status === 204 || status === 304 ? null : text, {
    status,
    headers: { 'content-type': 'application/json' },
  })
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
