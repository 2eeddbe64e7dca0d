import { type Answer, type DecodedPacket, decode, encode, type OptAnswer } from 'dns-packet'
import { compressNames } from './compression.ts'
import { REFUSED, type Resolution, resolve } from './resolve.ts'
import type { ZoneTable } from './zone.ts'

/** The response to one message. */
export interface DnsResponse {
  bytes: Buffer
  /** The truncated response, which makes a real client retry over TCP. */
  truncated(): Buffer
  kind: string
}

const HEADER_BYTES = 12
// Avoids IP fragmentation on every common path (DNS flag day 2020).
const MAX_UDP_BYTES = 1232
const MIN_UDP_BYTES = 512
/** The source of a datagram can be forged: a response of at most three times the query does not help to flood a third party. */
const MAX_AMPLIFICATION = 3
/** What authorities look up to validate a name: some do not ask again over TCP. Zones have little of it, and for moments. */
const VALIDATION_TYPES: ReadonlySet<string> = new Set(['A', 'AAAA', 'TXT'])
const MAX_TCP_BYTES = 65_535
const MAX_QUERY_BYTES = 4096

const AA = 0x0400
const TC = 0x0200
const RD = 0x0100
const OPCODE = 0x7800
const DO = 0x8000
const IN = 1

const rcodes = { NOERROR: 0, FORMERR: 1, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const
type Rcode = keyof typeof rcodes

interface Question {
  /** The received bytes, echoed unchanged. */
  raw: Buffer
  name: string
  class: number
}

/** Responds to one message; undefined for anything that is not a query, is malformed or too large. */
export function respondTo(
  table: ZoneTable,
  query: Buffer,
  transport: 'udp' | 'tcp',
): DnsResponse | undefined {
  if (query.length < HEADER_BYTES || query.length > MAX_QUERY_BYTES) return undefined
  const flags = query.readUInt16BE(2)
  if ((flags & 0x8000) !== 0) return undefined
  const echoedFlags = flags & (OPCODE | RD)
  if ((flags & OPCODE) !== 0) return headerOnly(query, echoedFlags, 'NOTIMP')

  const packet = tryDecode(query)
  if (packet === undefined) return undefined
  const options = (packet.additionals ?? []).filter((record) => record.type === 'OPT')
  if (packet.questions?.length !== 1 || options.length > 1) return headerOnly(query, echoedFlags, 'FORMERR')
  const question = readQuestion(query)
  if (question === undefined) return headerOnly(query, echoedFlags, 'FORMERR')

  const edns = options[0]
  const { type } = packet.questions[0]!
  const resolution = resolveQuestion(table, question, type, edns)
  const opt = edns === undefined ? [] : [buildOpt(edns)]
  const head = { query, flags: echoedFlags, question: question.raw, opt }
  const bytes = build(head, resolution, 0)
  const truncated = () => build(head, { ...resolution, answers: [], authorities: [], additionals: [] }, TC)
  const size = transport === 'tcp' ? MAX_TCP_BYTES : maxUdpBytes(query, type, edns)
  return { bytes: bytes.length > size ? truncated() : bytes, truncated, kind: resolution.kind }
}

function resolveQuestion(table: ZoneTable, question: Question, type: string, edns?: OptAnswer): Resolution {
  // RFC 6891 section 6.1.3: another version gets only BADVERS, which the OPT record carries.
  if (edns !== undefined && edns.ednsVersion !== 0) return { ...REFUSED, rcode: 'NOERROR' }
  const isTransfer = type === 'AXFR' || type === 'IXFR'
  if (question.class !== IN || isTransfer || !isHostName(question.name)) return REFUSED
  return resolve(table, question.name, type)
}

function maxUdpBytes(query: Buffer, type: string, edns: OptAnswer | undefined): number {
  const accepted = Math.max(MIN_UDP_BYTES, Math.min(edns?.udpPayloadSize ?? 0, MAX_UDP_BYTES))
  return VALIDATION_TYPES.has(type) ? accepted : Math.min(accepted, query.length * MAX_AMPLIFICATION)
}

function buildOpt(edns: OptAnswer): OptAnswer {
  return {
    name: '.',
    type: 'OPT',
    udpPayloadSize: MAX_UDP_BYTES,
    extendedRcode: edns.ednsVersion === 0 ? 0 : 1,
    ednsVersion: 0,
    flags: edns.flags & DO,
    flag_do: (edns.flags & DO) !== 0,
    options: [],
  }
}

interface ResponseHead {
  query: Buffer
  flags: number
  question: Buffer
  opt: Answer[]
}

function build(
  { query, flags, question, opt }: ResponseHead,
  resolution: Resolution,
  truncation: number,
): Buffer {
  const authority = resolution.authoritative ? AA : 0
  const bytes = encode({
    type: 'response',
    id: query.readUInt16BE(0),
    flags: flags | authority | truncation | rcodes[resolution.rcode],
    questions: [],
    answers: resolution.answers,
    authorities: resolution.authorities,
    additionals: [...resolution.additionals, ...opt],
  })
  // The encoder writes no compression pointers, so the question can be inserted unchanged.
  bytes.writeUInt16BE(1, 4)
  const message = Buffer.concat([bytes.subarray(0, HEADER_BYTES), question, bytes.subarray(HEADER_BYTES)])
  return compressNames(message, HEADER_BYTES + question.length)
}

/** A response with a header only, for messages whose question may be invalid. */
function headerOnly(query: Buffer, flags: number, rcode: Rcode): DnsResponse {
  const bytes = Buffer.alloc(HEADER_BYTES)
  bytes.writeUInt16BE(query.readUInt16BE(0), 0)
  bytes.writeUInt16BE(0x8000 | flags | rcodes[rcode], 2)
  return { bytes, truncated: () => bytes, kind: rcode }
}

function tryDecode(query: Buffer): DecodedPacket | undefined {
  try {
    return decode(query)
  } catch {
    return undefined
  }
}

/** Reads the question. A compression pointer has no target here, so it is a format error. */
function readQuestion(query: Buffer): Question | undefined {
  const labels: string[] = []
  let offset = HEADER_BYTES
  for (;;) {
    const length = query[offset]
    if (length === undefined || length > 63) return undefined
    offset += 1
    if (length === 0) break
    labels.push(query.toString('latin1', offset, offset + length))
    offset += length
    if (offset - HEADER_BYTES > 254) return undefined
  }
  if (offset + 4 > query.length) return undefined
  return {
    raw: query.subarray(HEADER_BYTES, offset + 4),
    name: labels.join('.'),
    class: query.readUInt16BE(offset + 2),
  }
}

/** The zones contain host names only, so names with other bytes, or a dot inside a label, are in none of them. */
function isHostName(name: string): boolean {
  return /^[!-~]+$/.test(name) && !name.startsWith('.') && !name.includes('..') && !name.endsWith('.')
}
