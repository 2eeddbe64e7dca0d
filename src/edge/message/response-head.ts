import { FIELD_VALUE_CHARS } from './ascii.ts'
import { responseNames } from './field-names.ts'
import { MessageFraming, scanFields } from './field-scan.ts'

/** Limits of a response head; higher than for requests, since upstreams send large cookies and policies. */
export const MAX_RESPONSE_HEAD_BYTES = 64 * 1024
export const MAX_RESPONSE_FIELDS = 256

/** Max interim responses (1xx) to one request (decision 116). They are forwarded at once and must not be endless. */
export const MAX_INTERIMS = 32

/** A parsed response head of an upstream. */
export interface ResponseHead {
  readonly status: number
  readonly reason: string
  /** 0 or 1, of HTTP/1.x. */
  readonly minor: number
  readonly framing: MessageFraming
}

const CR = 13
const SPACE = 32

/** Parses an HTTP/1 response head, the empty line included, or returns the fault: upstreams are not trusted (P30). */
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
  // A missing reason phrase, with or without its space, is common and harmless.
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
