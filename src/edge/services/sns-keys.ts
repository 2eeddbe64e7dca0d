import { type KeyObject, X509Certificate } from 'node:crypto'
import type { Outbound } from '../../base/outbound/outbound.ts'
import type { Clock } from '../../base/values/clock.ts'

/** Looks up the public key of the signing certificate at a URL; throws a reason when it cannot be trusted. */
export type SigningKeys = (url: string) => Promise<KeyObject>

/** The only URLs where Amazon SNS publishes its signing certificates. */
const CERTIFICATE_URL = /^https:\/\/sns\.[a-z0-9-]{3,32}\.amazonaws\.com(\.cn)?\/[\w-]{1,128}\.pem$/
const MAX_CACHED_KEYS = 64
const MAX_CERTIFICATE_BYTES = 64 * 1024
const MAX_FETCHES_PER_MINUTE = 20
const NEGATIVE_CACHE_MS = 60_000

interface CachedKey {
  readonly key: Promise<KeyObject>
  /** Wall-clock milliseconds. */
  expiresAt: number
}

/**
 * Public keys of Amazon SNS, fetched on first use and cached while their certificate is valid. Anyone can send a
 * message that names a URL, so fetches are rate limited and failures are cached.
 */
export function createSnsKeys({ fetch, clock }: Pick<Outbound, 'fetch'> & { clock: Clock }): SigningKeys {
  const cache = new Map<string, CachedKey>()
  let minute = 0
  let fetches = 0

  function countFetch(): boolean {
    const now = Math.floor(clock.monotonic() / 60_000)
    if (now !== minute) {
      minute = now
      fetches = 0
    }
    return ++fetches <= MAX_FETCHES_PER_MINUTE
  }

  async function fetchKey(url: string, entry: () => CachedKey): Promise<KeyObject> {
    const response = await fetch(url)
    if (response.status !== 200) throw new Error(`the certificate's address answered ${response.status}`)
    const text = await response.text()
    if (text.length > MAX_CERTIFICATE_BYTES) throw new Error('the certificate is too large')
    const certificate = new X509Certificate(text)
    const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
    if (!(clock.now() >= from && clock.now() < to)) throw new Error('the certificate is not valid now')
    if (certificate.publicKey.asymmetricKeyType !== 'rsa') throw new Error('the certificate has no RSA key')
    entry().expiresAt = to
    return certificate.publicKey
  }

  function evict(): void {
    const now = clock.now()
    for (const [url, { expiresAt }] of cache) if (expiresAt <= now) cache.delete(url)
    for (const url of cache.keys()) {
      if (cache.size < MAX_CACHED_KEYS) return
      cache.delete(url)
    }
  }

  return async (url) => {
    if (!CERTIFICATE_URL.test(url)) throw new Error('its certificate is not one of Amazon SNS')
    const cached = cache.get(url)
    if (cached !== undefined && cached.expiresAt > clock.now()) return cached.key
    if (!countFetch()) throw new Error('too many certificates were asked for; send it again in a minute')
    if (cache.size >= MAX_CACHED_KEYS) evict()
    const key = fetchKey(url, () => entry).catch(() => {
      throw new Error('its certificate could not be fetched or read')
    })
    const entry: CachedKey = { key, expiresAt: clock.now() + NEGATIVE_CACHE_MS }
    cache.set(url, entry)
    return key
  }
}
