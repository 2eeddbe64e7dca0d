import { type Answer, type DecodedPacket, decode, encode, type OptAnswer } from 'dns-packet'
import { type Resolution, resolve } from './resolve.ts'
import type { ZoneTable } from './zone.ts'

/** What goes back for one message. */
export interface Reply {
  bytes: Buffer
  /** The same answer cut to its head, which sends an honest client to TCP. */
  truncated(): Buffer
  kind: string
}

const HEADER = 12
// The size that passes every common path in one piece (DNS flag day 2020).
const UDP_SIZE = 1232
const SMALL_UDP_SIZE = 512
const TCP_SIZE = 65_535
const QUERY_LIMIT = 4096

const AA = 0x0400
const TC = 0x0200
const RD = 0x0100
const OPCODE = 0x7800
const DO = 0x8000
const IN = 1

const rcodes = { NOERROR: 0, FORMERR: 1, NXDOMAIN: 3, NOTIMP: 4, REFUSED: 5 } as const
type Rcode = keyof typeof rcodes

interface Question {
  /** As it came, so that it goes back in every letter. */
  raw: Buffer
  name: string
  class: number
}

/** Answers one message, or says nothing: to what is no query, is damaged, or is larger than any query. */
export function answerMessage(table: ZoneTable, query: Buffer, transport: 'udp' | 'tcp'): Reply | undefined {
  if (query.length < HEADER || query.length > QUERY_LIMIT) return undefined
  const flags = query.readUInt16BE(2)
  if ((flags & 0x8000) !== 0) return undefined
  const echoed = flags & (OPCODE | RD)
  if ((flags & OPCODE) !== 0) return refusal(query, echoed, 'NOTIMP')

  const packet = decoded(query)
  if (packet === undefined) return undefined
  const options = (packet.additionals ?? []).filter((record) => record.type === 'OPT')
  if (packet.questions?.length !== 1 || options.length > 1) return refusal(query, echoed, 'FORMERR')
  const question = readQuestion(query)
  if (question === undefined) return refusal(query, echoed, 'FORMERR')

  const edns = options[0]
  const resolution = resolveQuestion(table, question, packet.questions[0]!.type, edns)
  const opt = edns === undefined ? [] : [optFor(edns)]
  const head = { query, flags: echoed, question: question.raw, opt }
  const bytes = build(head, resolution, 0)
  const truncated = () => build(head, { ...resolution, answers: [], authorities: [], additionals: [] }, TC)
  const size = transport === 'tcp' ? TCP_SIZE : udpSize(edns)
  return { bytes: bytes.length > size ? truncated() : bytes, truncated, kind: resolution.kind }
}

function resolveQuestion(table: ZoneTable, question: Question, type: string, edns?: OptAnswer): Resolution {
  const nothing: Resolution = {
    rcode: 'REFUSED',
    authoritative: false,
    answers: [],
    authorities: [],
    additionals: [],
    kind: 'refused',
  }
  // RFC 6891 section 6.1.3: another version gets no answer but BADVERS, which lies in the OPT record.
  if (edns !== undefined && edns.ednsVersion !== 0) return { ...nothing, rcode: 'NOERROR' }
  const transfer = type === 'AXFR' || type === 'IXFR'
  if (question.class !== IN || transfer || !isPlain(question.name)) return nothing
  return resolve(table, question.name, type)
}

function udpSize(edns: OptAnswer | undefined): number {
  if (edns === undefined) return SMALL_UDP_SIZE
  return Math.max(SMALL_UDP_SIZE, Math.min(edns.udpPayloadSize, UDP_SIZE))
}

function optFor(edns: OptAnswer): OptAnswer {
  return {
    name: '.',
    type: 'OPT',
    udpPayloadSize: UDP_SIZE,
    extendedRcode: edns.ednsVersion === 0 ? 0 : 1,
    ednsVersion: 0,
    flags: edns.flags & DO,
    flag_do: (edns.flags & DO) !== 0,
    options: [],
  }
}

interface Head {
  query: Buffer
  flags: number
  question: Buffer
  opt: Answer[]
}

function build({ query, flags, question, opt }: Head, resolution: Resolution, truncation: number): Buffer {
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
  // The encoder writes no pointers between names, so the question can be put in as it came.
  bytes.writeUInt16BE(1, 4)
  return Buffer.concat([bytes.subarray(0, HEADER), question, bytes.subarray(HEADER)])
}

/** A head without anything else, for messages whose question may not even be one. */
function refusal(query: Buffer, flags: number, rcode: Rcode): Reply {
  const bytes = Buffer.alloc(HEADER)
  bytes.writeUInt16BE(query.readUInt16BE(0), 0)
  bytes.writeUInt16BE(0x8000 | flags | rcodes[rcode], 2)
  return { bytes, truncated: () => bytes, kind: rcode }
}

function decoded(query: Buffer): DecodedPacket | undefined {
  try {
    return decode(query)
  } catch {
    return undefined
  }
}

/** The question in its plain form. Pointers have nothing to point to here, so a message with one is refused. */
function readQuestion(query: Buffer): Question | undefined {
  const labels: string[] = []
  let at = HEADER
  for (;;) {
    const length = query[at]
    if (length === undefined || length > 63) return undefined
    at += 1
    if (length === 0) break
    labels.push(query.toString('latin1', at, at + length))
    at += length
    if (at - HEADER > 254) return undefined
  }
  if (at + 4 > query.length) return undefined
  return { raw: query.subarray(HEADER, at + 4), name: labels.join('.'), class: query.readUInt16BE(at + 2) }
}

/** Our zones hold host names, so a name with other bytes (or a dot inside a label) can be in none of them. */
function isPlain(name: string): boolean {
  return /^[!-~]+$/.test(name) && !name.startsWith('.') && !name.includes('..') && !name.endsWith('.')
}
