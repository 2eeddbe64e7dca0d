import { type Cidr, parseAddress, parseCidr } from './cidr.ts'

/** One line of an IP policy as it decides. */
export interface IpRule {
  readonly cidr: string
  readonly action: 'allow' | 'deny'
}

/** Says whether an address may pass. */
export type Admits = (address: string) => boolean

interface Range {
  first: bigint
  last: bigint
}

/** The most answers remembered; a visitor usually comes back. */
const MAX_CACHED_DECISIONS = 4096

/**
 * One pure function of all rules (P37): any deny wins, no match denies, no rules deny. Ranges are merged and the denied
 * ones cut out once, so that a check is one binary search, whatever the number of rules. IPv6 ranges never speak for
 * IPv4, so `::/0` opens nothing to IPv4. A rule that cannot be read throws: a broken policy must not become an open one.
 */
export function compileRules(rules: readonly IpRule[]): Admits {
  const parsed = rules.map(({ cidr, action }) => ({ ...parseCidr(cidr), action }))
  const search = { 4: compileFamily(parsed, 4), 6: compileFamily(parsed, 6) }
  const cache = new Map<string, boolean>()
  return (address) => {
    const cached = cache.get(address)
    if (cached !== undefined) return cached
    const key = parseAddress(address)
    const admitted = key !== undefined && search[key.family](key.value)
    // Emptied when full: bounded, and no cheaper to fill by force than to compute.
    if (cache.size >= MAX_CACHED_DECISIONS) cache.clear()
    cache.set(address, admitted)
    return admitted
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

/** Both lists are sorted and free of overlaps; so is what is left. */
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

/** An address as people write it: `::ffff:10.0.0.1`, which a socket open for both families reports, is `10.0.0.1`. */
export function plainAddress(address: string): string {
  return address.startsWith('::') ? (MAPPED.exec(address)?.[1] ?? address) : address
}
