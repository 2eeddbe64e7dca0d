import type { Answer } from 'dns-packet'
import { parentOf, type Zone, type ZoneNode, type ZoneTable } from './zone.ts'

/** The result of resolving a question. */
export interface Resolution {
  rcode: 'NOERROR' | 'NXDOMAIN' | 'REFUSED'
  authoritative: boolean
  answers: Answer[]
  authorities: Answer[]
  additionals: Answer[]
  /** Equal for equal responses, whatever names they contain: the key of the rate limit. */
  kind: string
}

const MAX_CHAIN_LENGTH = 8
/** The response to a question about a name that is not served here. */
export const REFUSED: Resolution = {
  rcode: 'REFUSED',
  authoritative: false,
  answers: [],
  authorities: [],
  additionals: [],
  kind: 'refused',
}

/**
 * Resolves one question from the table, after RFC 1034 section 4.3.2 with the wildcards of RFC 4592. Not recursive: a
 * name outside the zones is REFUSED.
 */
export function resolve(table: ZoneTable, name: string, type: string): Resolution {
  const answers: Answer[] = []
  const seen = new Set<string>()
  let owner = name
  let kind = ''
  for (;;) {
    const lower = owner.toLowerCase()
    const zone = findZone(table, lower)
    // The client's resolver follows a CNAME chain that leaves the zones.
    if (zone === undefined) return answers.length === 0 ? REFUSED : positive(answers, kind)
    const cut = findCut(zone, lower)
    if (cut !== undefined && !(cut === lower && type === 'DS')) return referral(table, zone, cut, answers)

    const match = findNode(zone, lower)
    if (match === undefined) return negative(zone, 'NXDOMAIN', answers)
    kind ||= `${zone.origin} ${match.name} ${type}`
    const alias = type === 'CNAME' || type === 'ANY' ? undefined : match.node.get('CNAME')?.[0]
    if (alias === undefined) {
      const records = type === 'ANY' ? minimalAny(owner) : withOwner(owner, match.node.get(type))
      if (records.length === 0) return negative(zone, 'NOERROR', answers)
      return {
        ...positive([...answers, ...records], kind),
        additionals: type === 'NS' ? glue(table, records) : [],
      }
    }
    answers.push(...withOwner(owner, [alias]))
    seen.add(lower)
    owner = targetOf(alias)
    if (seen.has(owner) || seen.size >= MAX_CHAIN_LENGTH) return positive(answers, kind)
  }
}

function positive(answers: Answer[], kind: string): Resolution {
  return { rcode: 'NOERROR', authoritative: true, answers, authorities: [], additionals: [], kind }
}

/** The SOA carries the TTL of the negative response (RFC 2308). */
function negative(zone: Zone, rcode: 'NOERROR' | 'NXDOMAIN', answers: Answer[]): Resolution {
  const kind = `${zone.origin} ${rcode}`
  return { rcode, authoritative: true, answers, authorities: [zone.soa], additionals: [], kind }
}

function referral(table: ZoneTable, zone: Zone, cut: string, answers: Answer[]): Resolution {
  const authorities = [...(zone.nodes.get(cut)?.get('NS') ?? [])]
  return {
    rcode: 'NOERROR',
    authoritative: answers.length > 0,
    answers,
    authorities,
    additionals: glue(table, authorities),
    kind: `${zone.origin} ${cut} referral`,
  }
}

/** The most specific zone that contains the name. */
function findZone(table: ZoneTable, name: string): Zone | undefined {
  for (let ancestor = name; ancestor !== ''; ancestor = parentOf(ancestor)) {
    const zone = table.get(ancestor)
    if (zone !== undefined) return zone
  }
  return undefined
}

/** The topmost delegation at or above a name: the server has no authority below it. */
function findCut(zone: Zone, name: string): string | undefined {
  if (zone.cuts.size === 0) return undefined
  let cut: string | undefined
  for (let ancestor = name; ancestor !== zone.origin; ancestor = parentOf(ancestor))
    if (zone.cuts.has(ancestor)) cut = ancestor
  return cut
}

/** The node for a name: its own, or the wildcard below its closest encloser. */
function findNode(zone: Zone, name: string): { name: string; node: ZoneNode } | undefined {
  const exact = zone.nodes.get(name)
  if (exact !== undefined) return { name, node: exact }
  let ancestor = parentOf(name)
  while (!zone.nodes.has(ancestor)) ancestor = parentOf(ancestor)
  const wildcard = `*.${ancestor}`
  const node = zone.nodes.get(wildcard)
  return node === undefined ? undefined : { name: wildcard, node }
}

/** The records under the queried name in its original case, which some resolvers verify. */
function withOwner(owner: string, records: readonly Answer[] = []): Answer[] {
  return records.map((record) => ({ ...record, name: owner }))
}

function targetOf(record: Answer): string {
  return record.type === 'CNAME' || record.type === 'NS' ? record.data : ''
}

/** The addresses of name servers inside the served zones. */
function glue(table: ZoneTable, servers: readonly Answer[]): Answer[] {
  return servers.flatMap((server) => {
    const target = targetOf(server)
    const node = findZone(table, target)?.nodes.get(target)
    return [...(node?.get('A') ?? []), ...(node?.get('AAAA') ?? [])]
  })
}

/** RFC 8482: ANY gets a minimal response, since large ones serve only amplification attacks. */
function minimalAny(owner: string): Answer[] {
  return [{ name: owner, type: 'HINFO', ttl: 3789, data: { cpu: 'RFC8482', os: '' } }]
}
