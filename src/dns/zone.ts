import { isIPv4, isIPv6 } from 'node:net'
import type { Answer, CaaData } from 'dns-packet'
import { isWithin } from '../base/values/domain.ts'

/** The record types of a zone, apart from the SOA and NS records at its apex, which have fields of their own. */
export type ZoneRecord = { name: string; ttl?: number } & (
  | { type: 'A' | 'AAAA' | 'CNAME' | 'NS'; data: string }
  | { type: 'TXT'; data: string }
  | { type: 'CAA'; data: CaaData }
)

/** The SOA data of a zone, timings in seconds (RFC 1035 section 3.3.13). */
export interface StartOfAuthority {
  mname: string
  /** The mailbox of the person in charge, its @ written as a dot. */
  rname: string
  serial: number
  refresh: number
  retry: number
  expire: number
  /** How long negative responses may be cached. */
  minimum: number
}

/** One zone as plain data. Names are lower case without a trailing dot; a first label `*` is a wildcard. */
export interface ZoneData {
  origin: string
  soa: StartOfAuthority
  /** The name servers of the zone. */
  ns: string[]
  /** Default TTL of records, in seconds. */
  ttl: number
  records: ZoneRecord[]
}

/** All records of one name by type; empty for an empty non-terminal. */
export type ZoneNode = ReadonlyMap<string, readonly Answer[]>

/** A compiled zone. */
export interface Zone {
  readonly origin: string
  readonly soa: Answer
  /** Every existing name, including empty non-terminals (RFC 4592 section 2.2.2). */
  readonly nodes: ReadonlyMap<string, ZoneNode>
  /** Names below the apex that are delegated to other servers. */
  readonly cuts: ReadonlySet<string>
}

/** Zones by their origin. */
export type ZoneTable = ReadonlyMap<string, Zone>

// RFC 4592 section 2.1.3: an asterisk that is not the first label is a label like any other.
const LABEL = /^(?:\*|[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?)$/

/** Compiles zones once per change, so that a response takes a few map lookups. Throws for invalid zone data. */
export function compileZones(zones: readonly ZoneData[]): ZoneTable {
  return new Map(zones.map((zone) => [zone.origin, compileZone(zone)]))
}

function compileZone({ origin, soa, ns, ttl, records }: ZoneData): Zone {
  requireName(origin)
  // RFC 2308 section 3: the negative TTL is the smaller of the two.
  const soaTtl = Math.min(ttl, soa.minimum)
  const nodes = new Map<string, Map<string, Answer[]>>([[origin, new Map()]])
  const cuts = new Set<string>()
  const add = (answer: Answer & { name: string }) => {
    const node = nodes.get(answer.name) ?? new Map<string, Answer[]>()
    nodes.set(answer.name, node)
    const set = node.get(answer.type)
    if (set === undefined) node.set(answer.type, [answer])
    else set.push(answer)
  }

  const soaRecord: Answer = { name: origin, type: 'SOA', ttl: soaTtl, data: soa }
  add(soaRecord)
  for (const data of ns) add({ name: origin, type: 'NS', ttl, data: requireName(data) })
  for (const record of records) {
    if (!isWithin(requireName(record.name), origin))
      throw new Error(`The record ${record.name} ${record.type} is outside its zone ${origin}.`)
    if (record.type === 'NS') cuts.add(record.name)
    add(toAnswer(record, ttl))
    for (let ancestor = record.name; ancestor !== origin; ancestor = parentOf(ancestor))
      if (!nodes.has(ancestor)) nodes.set(ancestor, new Map())
  }
  for (const [name, node] of nodes)
    if (node.has('CNAME') && (node.size > 1 || node.get('CNAME')!.length > 1))
      throw new Error(`${name} has a CNAME record, so it cannot have any other.`)
  return { origin, soa: soaRecord, nodes, cuts }
}

function toAnswer(record: ZoneRecord, zoneTtl: number): Answer {
  const { name, ttl = zoneTtl } = record
  switch (record.type) {
    case 'A':
    case 'AAAA':
      if (!(record.type === 'A' ? isIPv4 : isIPv6)(record.data))
        throw new Error(`The ${record.type} record of ${name} needs an address, not "${record.data}".`)
      return { name, ttl, type: record.type, data: record.data }
    case 'CNAME':
    case 'NS':
      return { name, ttl, type: record.type, data: requireName(record.data) }
    case 'TXT':
      return { name, ttl, type: 'TXT', data: toCharacterStrings(record.data) }
    case 'CAA':
      return { name, ttl, type: 'CAA', data: record.data }
  }
}

/** A TXT record is a list of strings of at most 255 bytes; readers join them again. */
function toCharacterStrings(text: string): Buffer[] {
  const bytes = Buffer.from(text)
  const chunks: Buffer[] = []
  for (let offset = 0; offset < bytes.length || offset === 0; offset += 255)
    chunks.push(bytes.subarray(offset, offset + 255))
  return chunks
}

function requireName(name: string): string {
  if (name.length > 253 || !name.split('.').every((label) => LABEL.test(label)))
    throw new Error(`"${name}" is not a name that DNS can serve.`)
  return name
}

/** The name one label up; the empty name above a single label. */
export function parentOf(name: string): string {
  const dot = name.indexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1)
}
