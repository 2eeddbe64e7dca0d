import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose'
import { deleteOldest } from '../../base/limits/delete-oldest.ts'
import type { Outbound } from '../../base/outbound/outbound.ts'
import type { Clock } from '../../base/values/clock.ts'
import { type FetchInternal, isInternalUrl } from './internal-fetch.ts'

/** The keys with which issuers sign tokens, fetched on first use and cached. */
export interface KeySets {
  /** The key of a token in one of the sets at these URLs. */
  keyOf(urls: readonly string[], internal?: InternalCaller): JWTVerifyGetKey
  /** The URL of the key set of an issuer, as its OpenID configuration names it. */
  urlOfIssuer(issuer: string, internal?: InternalCaller): Promise<string>
}

/** Who may fetch from internal endpoints, and how at this moment. */
export interface InternalCaller {
  /** The account, whose internal endpoints are its own. */
  readonly scope: string
  readonly fetch: FetchInternal
}

/** A key set, and how it is fetched: from an internal endpoint on behalf of the latest request. */
interface KnownSet {
  readonly keyOf: JWTVerifyGetKey
  internal: InternalCaller | undefined
}

const MAX_AGE_MS = 15 * 60_000
/** A set in which a key is missing is fetched again after this time at the earliest; so is one that failed. */
const COOLDOWN_MS = 30_000
const MAX_SETS = 1000
/** For internal endpoints, which the guarded client does not call. */
const INTERNAL_TIMEOUT_MS = 10_000

interface Discovery {
  readonly url: Promise<string>
  readonly expiresAt: number
}

export function createKeySets({ fetch, clock }: Pick<Outbound, 'fetch'> & { clock: Clock }): KeySets {
  const sets = new Map<string, KnownSet>()
  const discoveries = new Map<string, Discovery>()

  /** Visitors choose when keys are looked up, so a failure is remembered for a while. */
  function guardedFetch(send: (url: string | URL) => Promise<Response>) {
    let failure: { error: unknown; expiresAt: number } | undefined
    return async (url: string | URL) => {
      if (failure !== undefined && clock.monotonic() < failure.expiresAt) throw failure.error
      try {
        const response = await send(url)
        if (response.status !== 200) throw new Error(`${url} responds with ${response.status}`)
        failure = undefined
        return response
      } catch (error) {
        failure = { error, expiresAt: clock.monotonic() + COOLDOWN_MS }
        throw error
      }
    }
  }

  const send = (url: string | URL, internal: InternalCaller | undefined): Promise<Response> =>
    internal === undefined
      ? fetch(url, { headers: { accept: 'application/json' } })
      : internal.fetch(new URL(url), {
          headers: [['accept', 'application/json']],
          signal: AbortSignal.timeout(INTERNAL_TIMEOUT_MS),
        })

  function setAt(url: string, caller: InternalCaller | undefined): JWTVerifyGetKey {
    const internal = callerFor(url, caller)
    const key = keyIn(url, internal)
    const known = sets.get(key)
    if (known !== undefined) {
      known.internal = internal
      return known.keyOf
    }
    const get = guardedFetch((target) => send(target, set.internal))
    const set: KnownSet = {
      internal,
      keyOf: createRemoteJWKSet(new URL(url), {
        cacheMaxAge: MAX_AGE_MS,
        cooldownDuration: COOLDOWN_MS,
        [customFetch]: (target: string) => get(target),
      }),
    }
    dropOldest(sets)
    sets.set(key, set)
    return set.keyOf
  }

  async function discover(issuer: string, internal: InternalCaller | undefined): Promise<string> {
    const response = await send(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, internal)
    const { jwks_uri } = (await response.json()) as { jwks_uri?: unknown }
    if (typeof jwks_uri !== 'string') throw new Error(`${issuer} does not name its keys`)
    return jwks_uri
  }

  return {
    keyOf: (urls, internal) => async (header, token) => {
      for (const [index, url] of urls.entries()) {
        try {
          return await setAt(url, internal)(header, token)
        } catch (error) {
          if (!(error instanceof errors.JWKSNoMatchingKey) || index === urls.length - 1) throw error
        }
      }
      throw new errors.JWKSNoMatchingKey()
    },
    urlOfIssuer(issuer, caller) {
      const now = clock.monotonic()
      const internal = callerFor(issuer, caller)
      const key = keyIn(issuer, internal)
      const known = discoveries.get(key)
      if (known !== undefined && now < known.expiresAt) return known.url
      const url = discover(issuer, internal)
      dropOldest(discoveries)
      discoveries.set(key, { url, expiresAt: now + MAX_AGE_MS })
      url.catch(() => discoveries.set(key, { url, expiresAt: now + COOLDOWN_MS }))
      return url
    },
  }
}

const callerFor = (url: string, caller: InternalCaller | undefined) =>
  caller !== undefined && URL.canParse(url) && isInternalUrl(url) ? caller : undefined

/** Accounts have their own internal endpoints; names in the network are the same for all. */
const keyIn = (url: string, internal: InternalCaller | undefined) =>
  internal === undefined ? url : `${internal.scope} ${url}`

function dropOldest(map: Map<string, unknown>): void {
  if (map.size >= MAX_SETS) deleteOldest(map)
}
