import type { Clock } from '../../base/clock.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
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
 * Certificates of the private root, signed when they are first asked for. What they may be signed for is the caller's
 * to decide; how many are kept and signed at a time is bounded here, since strangers choose when to ask.
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

  /** The certificate for exactly these names; undefined when too many others are being signed right now. */
  get(names: readonly string[]): MaybePromise<ServedCertificate | undefined> {
    const key = names.join(' ')
    const leaf = this.#leaves.get(key)
    const now = this.#clock.now()
    // Signed in the future: the clock was ahead then, and nobody else takes it yet (P54).
    if (leaf !== undefined && leaf.validFrom <= now && now < leaf.freshUntil) {
      // Asked for last is kept longest.
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
    // Renewed with a third of its life left, like any other.
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
