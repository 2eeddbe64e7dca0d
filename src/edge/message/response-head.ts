import { FIELD_VALUE_CHARS } from './ascii.ts'
import { responseNames } from './field-names.ts'
import { MessageFraming, scanFields } from './field-scan.ts'

/** Limits of an upstream's head; more generous than for requests, cookies and policies being what they are. */
export const MAX_RESPONSE_HEAD_BYTES = 64 * 1024
export const MAX_RESPONSE_FIELDS = 256

/** Interim answers (1xx) to one request. They are passed on at once, so an upstream must not send them without end. */
export const MAX_INTERIMS = 32

/** The start of an upstream's answer. */
export interface ResponseHead {
  readonly status: number
  readonly reason: string
  /** 0 or 1, of HTTP/1.x. */
  readonly minor: number
  readonly framing: MessageFraming
}

const CR = 13
const SPACE = 32

/** Reads a whole HTTP/1 response head, the empty line included, or says what is wrong: upstreams are not trusted (P30). */
export function parseResponseHead(text: string): ResponseHead | string {
  const minor = text.charCodeAt(7) - 48
  if (!text.startsWith('HTTP/1.') || (minor !== 0 && minor !== 1) || text.charCodeAt(8) !== SPACE) {
    return 'its status line is malformed'
  }
  const status = parseStatus(text)
  let position = 12
  let reason = ''
  if (text.charCodeAt(position) === SPACE) {
    const start = ++position
    while (FIELD_VALUE_CHARS[text.charCodeAt(position)] === 1) position++
    reason = text.slice(start, position)
  }
  // A missing reason, with or without its blank, is common and says nothing.
  if (status === 0 || text.charCodeAt(position) !== CR || text.charCodeAt(position + 1) !== 10) {
    return 'its status line is malformed'
  }
  const framing = new MessageFraming()
  const fault = scanFields(text, position + 2, responseNames, MAX_RESPONSE_FIELDS, framing)
  if (fault !== undefined) return fault
  if (minor === 0 && framing.chunked) return 'HTTP/1.0 has no Transfer-Encoding'
  return { status, reason, minor, framing }
}

function parseStatus(text: string): number {
  const a = text.charCodeAt(9) - 48
  const b = text.charCodeAt(10) - 48
  const c = text.charCodeAt(11) - 48
  return a >= 1 && a <= 5 && b >= 0 && b <= 9 && c >= 0 && c <= 9 ? a * 100 + b * 10 + c : 0
}
