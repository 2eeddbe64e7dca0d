import { type Cidr, parseAddress, parseCidr } from './cidr.ts'

/** One rule of an IP policy. */
export interface IpRule {
  readonly cidr: string
  readonly action: 'allow' | 'deny'
}

/** Returns whether an address is admitted. */
export type AddressFilter = (address: string) => boolean

interface Range {
  first: bigint
  last: bigint
}

/** Decisions are cached because clients usually return. */
const MAX_CACHED_DECISIONS = 4096

/**
 * Compiles all rules into one pure function (P37): any deny wins, no match denies, no rules deny. Allowed ranges are
 * merged and denied ranges subtracted once, so that a check is one binary search. IPv6 ranges never match IPv4: `::/0`
 * admits no IPv4 address. An invalid rule throws, so that a broken policy never becomes an open one.
 */
export function compileRules(rules: readonly IpRule[]): AddressFilter {
  const search = compileSearch(rules)
  const cache = new Map<string, boolean>()
  return (address) => {
    const cached = cache.get(address)
    if (cached !== undefined) return cached
    const admitted = search(address)
    // Cleared when full: bounded, and filling it on purpose costs as much as the lookups it saves.
    if (cache.size >= MAX_CACHED_DECISIONS) cache.clear()
    cache.set(address, admitted)
    return admitted
  }
}

/** Returns whether an address is in one of the ranges. Unlike an IP policy it keeps no memory of decisions. */
export function compileRanges(cidrs: readonly string[]): AddressFilter {
  return compileSearch(cidrs.map((cidr) => ({ cidr, action: 'allow' })))
}

function compileSearch(rules: readonly IpRule[]): AddressFilter {
  const parsed = rules.map(({ cidr, action }) => ({ ...parseCidr(cidr), action }))
  const search = { 4: compileFamily(parsed, 4), 6: compileFamily(parsed, 6) }
  return (address) => {
    const key = parseAddress(address)
    return key !== undefined && search[key.family](key.value)
  }
}

function compileFamily(
  rules: readonly (Cidr & { action: 'allow' | 'deny' })[],
  family: 4 | 6,
): (value: bigint) => boolean {
  const ranges = (action: 'allow' | 'deny') =>
    merge(rules.filter((rule) => rule.family === family && rule.action === action).map(rangeOf))
  const admitted = subtract(ranges('allow'), ranges('deny'))
  const firsts = admitted.map(({ first }) => first)
  const lasts = admitted.map(({ last }) => last)
  return (value) => {
    let low = 0
    let high = firsts.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (firsts[middle]! <= value) low = middle + 1
      else high = middle
    }
    return low > 0 && value <= lasts[low - 1]!
  }
}

function rangeOf({ family, base, bits }: Cidr): Range {
  return { first: base, last: base + (1n << BigInt((family === 4 ? 32 : 128) - bits)) - 1n }
}

function merge(ranges: Range[]): Range[] {
  ranges.sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))
  const merged: Range[] = []
  for (const { first, last } of ranges) {
    const previous = merged.at(-1)
    if (previous === undefined || first > previous.last) merged.push({ first, last })
    else if (last > previous.last) previous.last = last
  }
  return merged
}

/** Both lists are sorted and free of overlaps; so is the result. */
function subtract(allowed: readonly Range[], denied: readonly Range[]): Range[] {
  const remaining: Range[] = []
  let firstDenied = 0
  for (const { first, last } of allowed) {
    let from = first
    while (firstDenied < denied.length && denied[firstDenied]!.last < first) firstDenied++
    for (let index = firstDenied; index < denied.length && denied[index]!.first <= last; index++) {
      const cut = denied[index]!
      if (cut.first > from) remaining.push({ first: from, last: cut.first - 1n })
      from = cut.last + 1n
    }
    if (from <= last) remaining.push({ first: from, last })
  }
  return remaining
}

const MAPPED = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i

/** Unmaps the form a dual-stack socket reports: `::ffff:10.0.0.1` becomes `10.0.0.1`. */
export function plainAddress(address: string): string {
  return address.startsWith('::') ? (MAPPED.exec(address)?.[1] ?? address) : address
}
