import type { Clock } from '../../base/clock.ts'
import { type Authority, BACKDATE } from './authority.ts'
import type { MaybeLater, ServedCertificate } from './served-certificate.ts'

const KEPT = 2000
const AT_ONCE = 8
const DAY = 24 * 60 * 60 * 1000
const DAYS = 90

interface Leaf {
  readonly served: ServedCertificate
  readonly validFrom: number
  readonly freshUntil: number
}

/**
 * Certificates of the private root, signed when they are first asked for. What they may be signed for is the caller's
 * to decide; how many are kept and signed at a time is bounded here, since strangers choose when to ask.
 */
export class Leaves {
  readonly #authority: Authority
  readonly #clock: Clock
  readonly #leaves = new Map<string, Leaf>()
  readonly #signing = new Map<string, Promise<ServedCertificate | undefined>>()
  #count = 0

  constructor(authority: Authority, clock: Clock) {
    this.#authority = authority
    this.#clock = clock
  }

  /** The certificate for exactly these names; undefined when too many others are being signed right now. */
  get(names: readonly string[]): MaybeLater<ServedCertificate | undefined> {
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
    if (this.#signing.size >= AT_ONCE) return leaf?.served
    const fresh = this.#sign(key, names).finally(() => this.#signing.delete(key))
    this.#signing.set(key, fresh)
    return fresh
  }

  async #sign(key: string, names: readonly string[]): Promise<ServedCertificate> {
    const now = this.#clock.now()
    const leaf = await this.#authority.issueLeaf({ names: [...names], days: DAYS, now })
    this.#count += 1
    const served = {
      certPem: leaf.certificatePem,
      keyPem: leaf.privateKeyPem.reveal(),
      version: `leaf-${this.#count}`,
    }
    // Renewed with a third of its life left, like any other.
    this.#leaves.set(key, { served, validFrom: now - BACKDATE, freshUntil: now + (DAYS * DAY * 2) / 3 })
    for (const oldest of this.#leaves.keys()) {
      if (this.#leaves.size <= KEPT) break
      this.#leaves.delete(oldest)
    }
    return served
  }
}
