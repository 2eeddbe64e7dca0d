import { isIPv4 } from 'node:net'
import { parseAddress } from '../base/values/cidr.ts'
import type { Clock } from '../base/values/clock.ts'

/** Limits on equal responses per network. */
export interface ResponseRateLimitOptions {
  /** Responses of one kind per second and network, on average. */
  perSecond: number
  /** Responses of one kind in a burst. */
  burst: number
  /** Every `slip`-th response over the limit is sent truncated, so that a real client retries over TCP. 0: none. */
  slip: number
}

/** What to do with a response. */
export type RateVerdict = 'send' | 'truncate' | 'drop'

interface Bucket {
  tokens: number
  updatedAt: number
  exceeded: number
}

const MAX_GENERATION_SIZE = 25_000

/**
 * Response rate limiting (RRL) for UDP, whose sources can be forged: bounds the responses of one kind per network, so
 * that the server cannot be used to flood it. A kind is one record or one error, whatever name was queried.
 */
export class ResponseRateLimit {
  readonly #options: ResponseRateLimitOptions
  readonly #clock: Clock
  // Two generations instead of an LRU list: eviction costs nothing, even in a flood.
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

  /** Starts a new generation when full, which evicts buckets not used recently and bounds memory in a flood. */
  #store(key: string, bucket: Bucket): Bucket {
    if (this.#young.size >= MAX_GENERATION_SIZE) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, bucket)
    return bucket
  }
}

/** The network of an address: /24 for IPv4, /56 for IPv6, the usual allocation of one site. */
export function networkOf(address: string): string {
  if (isIPv4(address)) return address.slice(0, address.lastIndexOf('.'))
  const parsed = parseAddress(address)
  if (parsed === undefined) return 'unknown'
  if (parsed.family === 6) return (parsed.value >> 72n).toString(16)
  const octets = [24n, 16n, 8n].map((shift) => (parsed.value >> shift) & 255n)
  return octets.join('.')
}
