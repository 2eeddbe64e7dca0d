import { trimOws } from '../../base/optional-white-space.ts'
import { FIELD_VALUE, ODD_IN_NAME, TOKEN } from './ascii.ts'
import { type FieldNames, Meaning } from './field-names.ts'

const CR = 13
const LF = 10
const COLON = 58
const SPACE = 32
const TAB = 9

/** What the fields of one message say about its framing and connection, and the lines that are passed on. */
export class FieldFacts {
  /** Lines to pass on, each ended by CRLF. */
  kept = ''
  count = 0
  hosts = 0
  host = ''
  /** Declared length of the body, -1 when there is none. */
  length = -1
  chunked = false
  close = false
  keepAlive = false
  /** `Connection: upgrade` was said. */
  upgrading = false
  /** The Upgrade field, lower case. */
  upgrade = ''
  expectContinue = false
  expectOther = false
  /** `TE: trailers` was said. */
  trailers = false
  /** Further names in Connection: fields that end here. */
  named: Set<string> | undefined
}

/** Why a list of fields cannot be accepted. */
export type FieldFault =
  | 'it has too many header fields'
  | 'a header field is malformed'
  | 'a header field has a forbidden character'
  | 'it has more than one Host field'
  | 'its Content-Length is not valid'
  | 'it has more than one Content-Length field'
  | 'its Transfer-Encoding is not the single word chunked'
  | 'it has both Content-Length and Transfer-Encoding'

/**
 * Reads the field lines of a head that starts at `at` and ends with the last character of the text (the empty line
 * included). Strict where readers are known to differ (P20, P24): no folding, no bare CR or LF, no blank before the
 * colon, one framing field at most. Runs of lines that stay are kept as one slice.
 */
export function scanFields(
  text: string,
  at: number,
  names: FieldNames,
  maxFields: number,
  facts: FieldFacts,
): FieldFault | undefined {
  const end = text.length - 2
  let from = at
  let kept = ''
  let count = 0
  let p = at
  while (p < end) {
    if (++count > maxFields) return 'it has too many header fields'
    const line = p
    const first = text.charCodeAt(p)
    let odd = 0
    let c = first
    while (TOKEN[c] === 1) {
      odd |= ODD_IN_NAME[c]!
      c = text.charCodeAt(++p)
    }
    const nameEnd = p
    if (c !== COLON || p === line) return 'a header field is malformed'
    do c = text.charCodeAt(++p)
    while (c === SPACE || c === TAB)
    const valueStart = p
    while (FIELD_VALUE[c] === 1) c = text.charCodeAt(++p)
    if (c !== CR || text.charCodeAt(p + 1) !== LF) return 'a header field has a forbidden character'
    const valueEnd = p
    p += 2
    if (odd === 0 && !names.mayMean(first, nameEnd - line)) continue
    const name = text.slice(line, nameEnd).toLowerCase()
    if (odd === 1) {
      if (!names.imitates(name)) continue
    } else {
      const meaning = names.meaning(name)
      if (meaning === Meaning.none) continue
      if (meaning !== Meaning.drop) {
        const fault = read(meaning, trimOws(text.slice(valueStart, valueEnd)), facts)
        if (fault !== undefined) return fault
      }
    }
    if (line > from) kept += text.slice(from, line)
    from = p
  }
  facts.kept = from === at ? text.slice(at, end) : kept + text.slice(from, end)
  facts.count = count
  if (facts.chunked && facts.length !== -1) return 'it has both Content-Length and Transfer-Encoding'
  if (facts.named !== undefined) facts.kept = withoutNamed(facts.kept, facts.named)
  return undefined
}

const LENGTH = /^[0-9]{1,15}$/

function read(meaning: Meaning, value: string, facts: FieldFacts): FieldFault | undefined {
  switch (meaning) {
    case Meaning.host:
      facts.host = value
      return ++facts.hosts > 1 ? 'it has more than one Host field' : undefined
    case Meaning.length:
      if (facts.length !== -1) return 'it has more than one Content-Length field'
      if (!LENGTH.test(value)) return 'its Content-Length is not valid'
      facts.length = Number(value)
      return undefined
    case Meaning.transfer:
      if (facts.chunked || value.toLowerCase() !== 'chunked')
        return 'its Transfer-Encoding is not the single word chunked'
      facts.chunked = true
      return undefined
    case Meaning.connection:
      readConnection(value, facts)
      return undefined
    case Meaning.upgrade:
      facts.upgrade = facts.upgrade === '' ? value.toLowerCase() : `${facts.upgrade}, ${value.toLowerCase()}`
      return undefined
    case Meaning.expect:
      if (value.toLowerCase() === '100-continue') facts.expectContinue = true
      else facts.expectOther = true
      return undefined
    case Meaning.te:
      if (/(^|[, \t])trailers($|[,; \t])/i.test(value)) facts.trailers = true
      return undefined
    default:
      return undefined
  }
}

function readConnection(value: string, facts: FieldFacts): void {
  // What most senders say needs no list.
  if (value === 'keep-alive' || value === 'close') {
    if (value === 'close') facts.close = true
    else facts.keepAlive = true
    return
  }
  for (const part of value.toLowerCase().split(',')) {
    const option = trimOws(part)
    if (option === 'close') facts.close = true
    else if (option === 'keep-alive') facts.keepAlive = true
    else if (option === 'upgrade') facts.upgrading = true
    else if (option !== '') {
      facts.named ??= new Set()
      facts.named.add(option)
    }
  }
}

/** Field lines without those of these lower-case names. */
function withoutNamed(kept: string, named: ReadonlySet<string>): string {
  let rest = ''
  for (let p = 0; p < kept.length; ) {
    const end = kept.indexOf('\r\n', p)
    const next = end < 0 ? kept.length : end + 2
    if (!named.has(kept.slice(p, kept.indexOf(':', p)).toLowerCase())) rest += kept.slice(p, next)
    p = next
  }
  return rest
}
