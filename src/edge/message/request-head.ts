import { type EdgeError, edgeError } from '../errors.ts'
import { TARGET_CHARS, TOKEN_CHARS } from './ascii.ts'
import { requestNames } from './field-names.ts'
import { MessageFraming, scanFields } from './field-scan.ts'
import { parseRequestedHost, type RequestedHost } from './requested-host.ts'

/** Limits of a request head (P20). */
export const MAX_HEAD_BYTES = 16 * 1024
export const MAX_FIELDS = 100
export const MAX_TARGET_BYTES = 8 * 1024
const MAX_METHOD_BYTES = 32

/** A parsed request head: the single interpretation that routing, policy and the upstream share. */
export interface RequestHead extends RequestedHost {
  readonly method: string
  /** Origin form (`/path?query`), or `*` for OPTIONS. */
  readonly target: string
  /** 1 or 2. */
  readonly major: number
  /** 0 or 1, of HTTP/1.x; HTTP/2 counts as 1, since its clients know all that those of HTTP/1.1 do. */
  readonly minor: number
  readonly framing: MessageFraming
}

const SPACE = 32
const SLASH = 47

/**
 * Parses a complete HTTP/1 request head, the empty line included, or returns why it is rejected. `scheme` is that of the
 * connection, with which an absolute target must agree.
 */
export function parseRequestHead(text: string, scheme: 'http' | 'https'): RequestHead | EdgeError {
  let position = 0
  while (TOKEN_CHARS[text.charCodeAt(position)] === 1) position++
  if (position === 0 || position > MAX_METHOD_BYTES || text.charCodeAt(position) !== SPACE)
    return badRequest('its request line is malformed')
  const method = text.slice(0, position)
  const start = ++position
  while (TARGET_CHARS[text.charCodeAt(position)] === 1) position++
  if (position - start > MAX_TARGET_BYTES) return edgeError('target_too_long')
  if (position === start || text.charCodeAt(position) !== SPACE)
    return badRequest('its request line is malformed')
  let target = text.slice(start, position)
  const minor = parseVersion(text, position + 1)
  if (typeof minor !== 'number') return minor
  // Whatever its target: an upstream may treat what follows as a tunnel (P29).
  if (method === 'CONNECT') return edgeError('method_refused', method)
  const framing = new MessageFraming()
  const fault = scanFields(text, position + 11, requestNames, MAX_FIELDS, framing)
  if (fault !== undefined) {
    return fault === 'it has too many header fields' ? edgeError('head_too_large') : badRequest(fault)
  }
  if (minor === 0 && framing.chunked) return badRequest('HTTP/1.0 has no Transfer-Encoding')
  if (framing.hostCount === 0) return badRequest('it has no Host field')
  const requested = parseRequestedHost(framing.host)
  if (requested === undefined) return badRequest('its Host field is not valid')
  const { host, authority } = requested
  if (target.charCodeAt(0) !== SLASH) {
    const origin = toOriginForm(method, target, scheme, host)
    if (typeof origin !== 'string') return origin
    target = origin
  }
  return { method, target, major: 1, minor, host, authority, framing }
}

/** The type of a TLS record with a handshake (RFC 8446 section 5.1). */
const TLS_HANDSHAKE = 22

/** Returns the error for a byte that no request begins with, so that a client of another protocol need not time out. */
export function rejectFirstByte(byte: number): EdgeError | undefined {
  if (TOKEN_CHARS[byte] === 1) return undefined
  return badRequest(
    byte === TLS_HANDSHAKE
      ? 'it begins with a TLS handshake, but this port speaks HTTP without TLS'
      : 'its request line is malformed',
  )
}

/** Returns the error for a head that exceeds the limit: its target is too long, or the head as a whole is. */
export function oversizedHeadError(text: string): EdgeError {
  const start = text.indexOf(' ') + 1
  const end = text.indexOf(' ', start)
  const length = (end === -1 ? text.length : end) - start
  return start > 0 && start <= MAX_METHOD_BYTES + 1 && length > MAX_TARGET_BYTES
    ? edgeError('target_too_long')
    : edgeError('head_too_large')
}

function parseVersion(text: string, offset: number): number | EdgeError {
  if (text.startsWith('HTTP/1.1\r\n', offset)) return 1
  if (text.startsWith('HTTP/1.0\r\n', offset)) return 0
  return /^HTTP\/[0-9]\.[0-9]\r\n/.test(text.slice(offset, offset + 10))
    ? edgeError('version_unsupported')
    : badRequest('its request line is malformed')
}

const ABSOLUTE = /^(https?):\/\/([^/?]*)(.*)$/is

function toOriginForm(method: string, target: string, scheme: string, host: string): string | EdgeError {
  if (target === '*') return method === 'OPTIONS' ? target : badRequest('its target is not valid')
  const match = ABSOLUTE.exec(target)
  if (match === null) return badRequest('its target is not valid')
  const [, targetScheme = '', authority = '', rest = ''] = match
  if (targetScheme.toLowerCase() !== scheme)
    return badRequest('the scheme of its target is not that of the connection')
  if (parseRequestedHost(authority)?.host !== host)
    return badRequest('its target and its Host field disagree')
  return rest.startsWith('/') ? rest : `/${rest}`
}

function badRequest(reason: string): EdgeError {
  return edgeError('bad_request', reason)
}
