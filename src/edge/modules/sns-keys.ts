import { type KeyObject, X509Certificate } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Outbound } from '../../base/outbound/outbound.ts'

/** The public key behind an address of a signing certificate; throws a reason when there is none to be trusted. */
export type SigningKeys = (url: string) => Promise<KeyObject>

/** The only places where Amazon SNS publishes the certificates it signs with. */
const ADDRESS = /^https:\/\/sns\.[a-z0-9-]{3,32}\.amazonaws\.com(\.cn)?\/[\w-]{1,128}\.pem$/
const MOST = 64
const MAX_BYTES = 64 * 1024
const FETCHES_A_MINUTE = 20
const FAILED_MS = 60_000

interface Known {
  readonly key: Promise<KeyObject>
  /** Wall-clock milliseconds. */
  until: number
}

/**
 * Keys of Amazon SNS, fetched when a message first names them and kept as long as their certificate is valid. Anybody
 * can send a message that names some address, so that fetching is counted, and what failed is not tried again at once.
 */
export function createSnsKeys({ fetch, clock }: Pick<Outbound, 'fetch'> & { clock: Clock }): SigningKeys {
  const known = new Map<string, Known>()
  let minute = 0
  let fetches = 0

  function mayFetch(): boolean {
    const now = Math.floor(clock.monotonic() / 60_000)
    if (now !== minute) {
      minute = now
      fetches = 0
    }
    return ++fetches <= FETCHES_A_MINUTE
  }

  async function fetchKey(url: string, entry: () => Known): Promise<KeyObject> {
    const response = await fetch(url)
    if (response.status !== 200) throw new Error(`the certificate's address answered ${response.status}`)
    const text = await response.text()
    if (text.length > MAX_BYTES) throw new Error('the certificate is too large')
    const certificate = new X509Certificate(text)
    const [from, to] = [Date.parse(certificate.validFrom), Date.parse(certificate.validTo)]
    if (!(clock.now() >= from && clock.now() < to)) throw new Error('the certificate is not valid now')
    if (certificate.publicKey.asymmetricKeyType !== 'rsa') throw new Error('the certificate has no RSA key')
    entry().until = to
    return certificate.publicKey
  }

  function makeRoom(): void {
    const now = clock.now()
    for (const [url, { until }] of known) if (until <= now) known.delete(url)
    for (const url of known.keys()) {
      if (known.size < MOST) return
      known.delete(url)
    }
  }

  return async (url) => {
    if (!ADDRESS.test(url)) throw new Error('its certificate is not one of Amazon SNS')
    const before = known.get(url)
    if (before !== undefined && before.until > clock.now()) return before.key
    if (!mayFetch()) throw new Error('too many certificates were asked for; send it again in a minute')
    if (known.size >= MOST) makeRoom()
    const key = fetchKey(url, () => entry).catch(() => {
      throw new Error('its certificate could not be fetched or read')
    })
    const entry: Known = { key, until: clock.now() + FAILED_MS }
    known.set(url, entry)
    return key
  }
}
