import { createRemoteJWKSet, customFetch, errors, type JWTVerifyGetKey } from 'jose'
import type { Clock } from '../../base/clock.ts'
import { deleteOldest } from '../../base/delete-oldest.ts'
import type { Outbound } from '../../base/outbound/outbound.ts'

/** The keys with which issuers sign tokens, fetched on first use and cached. */
export interface KeySets {
  /** The key of a token in one of the sets at these URLs. */
  keyOf(urls: readonly string[]): JWTVerifyGetKey
  /** The URL of the key set of an issuer, as its OpenID configuration names it. */
  urlOfIssuer(issuer: string): Promise<string>
}

const MAX_AGE_MS = 15 * 60_000
/** A set in which a key is missing is fetched again after this time at the earliest; so is one that failed. */
const COOLDOWN_MS = 30_000
const MAX_SETS = 1000

interface Discovery {
  readonly url: Promise<string>
  readonly expiresAt: number
}

export function createKeySets({ fetch, clock }: Pick<Outbound, 'fetch'> & { clock: Clock }): KeySets {
  const sets = new Map<string, JWTVerifyGetKey>()
  const discoveries = new Map<string, Discovery>()

  /** Visitors choose when keys are looked up, so a failure is remembered for a while. */
  function guardedFetch() {
    let failure: { error: unknown; expiresAt: number } | undefined
    return async (url: string | URL) => {
      if (failure !== undefined && clock.monotonic() < failure.expiresAt) throw failure.error
      try {
        const response = await fetch(url, { headers: { accept: 'application/json' } })
        if (response.status !== 200) throw new Error(`${url} responds with ${response.status}`)
        failure = undefined
        return response
      } catch (error) {
        failure = { error, expiresAt: clock.monotonic() + COOLDOWN_MS }
        throw error
      }
    }
  }

  function setAt(url: string): JWTVerifyGetKey {
    const known = sets.get(url)
    if (known !== undefined) return known
    const get = guardedFetch()
    const set = createRemoteJWKSet(new URL(url), {
      cacheMaxAge: MAX_AGE_MS,
      cooldownDuration: COOLDOWN_MS,
      [customFetch]: (target: string) => get(target),
    })
    dropOldest(sets)
    sets.set(url, set)
    return set
  }

  async function discover(issuer: string): Promise<string> {
    const response = await fetch(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`)
    const { jwks_uri } = (await response.json()) as { jwks_uri?: unknown }
    if (typeof jwks_uri !== 'string') throw new Error(`${issuer} does not name its keys`)
    return jwks_uri
  }

  return {
    keyOf: (urls) => async (header, token) => {
      for (const [index, url] of urls.entries()) {
        try {
          return await setAt(url)(header, token)
        } catch (error) {
          if (!(error instanceof errors.JWKSNoMatchingKey) || index === urls.length - 1) throw error
        }
      }
      throw new errors.JWKSNoMatchingKey()
    },
    urlOfIssuer(issuer) {
      const now = clock.monotonic()
      const known = discoveries.get(issuer)
      if (known !== undefined && now < known.expiresAt) return known.url
      const url = discover(issuer)
      dropOldest(discoveries)
      discoveries.set(issuer, { url, expiresAt: now + MAX_AGE_MS })
      url.catch(() => discoveries.set(issuer, { url, expiresAt: now + COOLDOWN_MS }))
      return url
    },
  }
}

function dropOldest(map: Map<string, unknown>): void {
  if (map.size >= MAX_SETS) deleteOldest(map)
}
