import { isIPv4 } from 'node:net'
import { parseAddress } from '../base/cidr.ts'
import type { Clock } from '../base/clock.ts'

/** How many alike answers one network may have. */
export interface ResponseRateLimitOptions {
  /** Answers of one kind per second and network, on average. */
  perSecond: number
  /** Answers of one kind that may come at once. */
  burst: number
  /** Every how-manieth answer over the limit is sent truncated, so that a real client turns to TCP. 0: none. */
  slip: number
}

/** What to do with an answer. */
export type RateVerdict = 'send' | 'truncate' | 'drop'

interface Bucket {
  tokens: number
  updatedAt: number
  exceeded: number
}

const MAX_GENERATION_SIZE = 25_000

/**
 * Response-rate limiting for UDP, whose sources can be forged: a network gets only so many answers of one kind, so
 * that we are of no use for flooding it. Alike means the same record or the same refusal, whatever name was asked.
 */
export class ResponseRateLimit {
  readonly #options: ResponseRateLimitOptions
  readonly #clock: Clock
  // Two generations instead of one list with an order: forgetting costs nothing, even in a flood.
  #young = new Map<string, Bucket>()
  #old = new Map<string, Bucket>()

  constructor(options: ResponseRateLimitOptions, clock: Clock) {
    this.#options = options
    this.#clock = clock
  }

  check(address: string, kind: string): RateVerdict {
    const { perSecond, burst, slip } = this.#options
    const now = this.#clock.monotonic()
    const key = `${networkOf(address)} ${kind}`
    const bucket = this.#find(key) ?? this.#store(key, { tokens: burst, updatedAt: now, exceeded: 0 })
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.updatedAt) / 1000) * perSecond)
    bucket.updatedAt = now
    if (bucket.tokens >= 1) {
      bucket.tokens -= 1
      bucket.exceeded = 0
      return 'send'
    }
    bucket.exceeded += 1
    return slip > 0 && bucket.exceeded % slip === 0 ? 'truncate' : 'drop'
  }

  #find(key: string): Bucket | undefined {
    const young = this.#young.get(key)
    if (young !== undefined) return young
    const old = this.#old.get(key)
    return old === undefined ? undefined : this.#store(key, old)
  }

  /** When full, forgets whatever was not seen of late: a flood from everywhere must not take our memory. */
  #store(key: string, bucket: Bucket): Bucket {
    if (this.#young.size >= MAX_GENERATION_SIZE) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, bucket)
    return bucket
  }
}

/** The network a source is counted with: /24 for IPv4, /56 for IPv6, what one site is commonly given. */
export function networkOf(address: string): string {
  if (isIPv4(address)) return address.slice(0, address.lastIndexOf('.'))
  const parsed = parseAddress(address)
  if (parsed === undefined) return 'unknown'
  if (parsed.family === 6) return (parsed.value >> 72n).toString(16)
  const octets = [24n, 16n, 8n].map((shift) => (parsed.value >> shift) & 255n)
  return octets.join('.')
}
