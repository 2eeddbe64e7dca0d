import type { Clock } from '../../base/values/clock.ts'
import type { MaybePromise } from '../../base/values/maybe-promise.ts'
import { type Authority, BACKDATE_MS } from './authority.ts'
import type { ServedCertificate } from './served-certificate.ts'

const MAX_CACHED = 2000
const MAX_SIGNING = 8
const DAY = 24 * 60 * 60 * 1000
const LIFETIME_DAYS = 90

interface Leaf {
  readonly served: ServedCertificate
  readonly validFrom: number
  readonly freshUntil: number
}

/**
 * Signs and caches leaf certificates of the private root on demand. The caller decides which names are allowed; the cache
 * bounds how many are stored and signed at a time, since unauthenticated clients trigger them.
 */
export class LeafCache {
  readonly #authority: Authority
  readonly #clock: Clock
  readonly #leaves = new Map<string, Leaf>()
  readonly #signing = new Map<string, Promise<ServedCertificate | undefined>>()
  #versionCounter = 0

  constructor(authority: Authority, clock: Clock) {
    this.#authority = authority
    this.#clock = clock
  }

  /** The certificate for exactly these names; undefined while too many others are being signed. */
  get(names: readonly string[]): MaybePromise<ServedCertificate | undefined> {
    const key = names.join(' ')
    const leaf = this.#leaves.get(key)
    const now = this.#clock.now()
    // A leaf from the future was signed while the clock was ahead, and clients reject it (P54).
    if (leaf !== undefined && leaf.validFrom <= now && now < leaf.freshUntil) {
      // Moves the entry to the end: eviction is least recently used.
      this.#leaves.delete(key)
      this.#leaves.set(key, leaf)
      return leaf.served
    }
    const signing = this.#signing.get(key)
    if (signing !== undefined) return signing
    if (this.#signing.size >= MAX_SIGNING) return leaf?.served
    const signed = this.#sign(key, names).finally(() => this.#signing.delete(key))
    this.#signing.set(key, signed)
    return signed
  }

  async #sign(key: string, names: readonly string[]): Promise<ServedCertificate> {
    const now = this.#clock.now()
    const leaf = await this.#authority.issueLeaf({ names: [...names], days: LIFETIME_DAYS, now })
    this.#versionCounter += 1
    const served = {
      certPem: leaf.certificatePem,
      keyPem: leaf.privateKeyPem.reveal(),
      version: `leaf-${this.#versionCounter}`,
    }
    // Renewed with a third of its lifetime left, as all certificates are.
    this.#leaves.set(key, {
      served,
      validFrom: now - BACKDATE_MS,
      freshUntil: now + (LIFETIME_DAYS * DAY * 2) / 3,
    })
    for (const oldest of this.#leaves.keys()) {
      if (this.#leaves.size <= MAX_CACHED) break
      this.#leaves.delete(oldest)
    }
    return served
  }
}
