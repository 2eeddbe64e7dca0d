import { trimOws } from '../../base/http/optional-white-space.ts'
import { type EdgeError, edgeError } from '../errors.ts'
import { isFieldValue, isToken, TARGET_CHARS } from './ascii.ts'
import { requestNames } from './field-names.ts'
import { MessageFraming, scanFields } from './field-scan.ts'
import { MAX_FIELDS, MAX_HEAD_BYTES, MAX_TARGET_BYTES, type RequestHead } from './request-head.ts'
import { parseRequestedHost } from './requested-host.ts'

/**
 * Parses an HTTP/2 request with the same checks as HTTP/1, so that nothing in it can change the framing, method, target
 * or host of what the upstream gets (P26). `scheme` is that of the connection, with which the request must agree; without
 * it, either is accepted.
 */
export function parseHttp2Head(
  raw: readonly string[],
  endStream: boolean,
  scheme: 'http' | 'https' | undefined,
): RequestHead | EdgeError {
  const pseudo = new Map<string, string>()
  const cookies: string[] = []
  let lines = ''
  let count = 0
  for (let index = 0; index < raw.length; index += 2) {
    const name = raw[index]!
    const value = raw[index + 1]!
    if (name.startsWith(':')) {
      if (pseudo.has(name)) return badRequest(`it has ${name} twice`)
      pseudo.set(name, value)
    } else {
      const fault = http2FieldFault(name, value)
      if (fault !== undefined) return badRequest(fault)
      if (++count > MAX_FIELDS) return edgeError('head_too_large')
      // RFC 9113 section 8.2.3: the parts of a cookie are joined into one field.
      if (name === 'cookie') cookies.push(value)
      else lines += `${name}: ${value}\r\n`
    }
  }
  if (cookies.length > 0) lines += `cookie: ${cookies.join('; ')}\r\n`
  const target = pseudo.get(':path') ?? ''
  const method = pseudo.get(':method') ?? ''
  if (target.length > MAX_TARGET_BYTES) return edgeError('target_too_long')
  if (lines.length + target.length > MAX_HEAD_BYTES) return edgeError('head_too_large')
  if (!isToken(method)) return badRequest('its method is not valid')
  if (method === 'CONNECT') return edgeError('method_refused', method)
  if (!isScheme(pseudo.get(':scheme'), scheme)) return badRequest('its scheme is not that of the connection')
  if (!isTarget(target, method)) return badRequest('its target is not valid')
  const framing = new MessageFraming()
  const fault = scanFields(`${lines}\r\n`, 0, requestNames, MAX_FIELDS, framing)
  if (fault !== undefined) return badRequest(fault)
  if (
    framing.chunked ||
    framing.upgrade !== '' ||
    framing.close ||
    framing.keepAlive ||
    framing.connectionOptions !== undefined
  ) {
    return badRequest('it has fields that HTTP/2 does not know')
  }
  if (framing.expectOther) return edgeError('expectation_failed')
  if (endStream && framing.contentLength > 0) return badRequest('its Content-Length is not valid')
  // Without a declared length the body is forwarded in chunks.
  if (!endStream && framing.contentLength === -1) framing.chunked = true
  return resolveHost(method, target, pseudo.get(':authority'), framing)
}

function resolveHost(
  method: string,
  target: string,
  authority: string | undefined,
  framing: MessageFraming,
): RequestHead | EdgeError {
  const requestedAuthority = authority ?? (framing.hostCount === 1 ? framing.host : undefined)
  if (requestedAuthority === undefined) return badRequest('it names no host')
  const requested = parseRequestedHost(requestedAuthority)
  if (requested === undefined) return badRequest('its host is not valid')
  if (framing.hostCount === 1 && parseRequestedHost(framing.host)?.authority !== requested.authority)
    return badRequest('its two hosts disagree')
  const { host, authority: normalized } = requested
  return { method, target, major: 2, minor: 1, host, authority: normalized, framing }
}

/** RFC 9113 section 8.2.1: no upper case in names, no whitespace around values. */
export function http2FieldFault(name: string, value: string): string | undefined {
  if (!isToken(name) || name !== name.toLowerCase())
    return 'the name of a header field has a forbidden character'
  if (!isFieldValue(value)) return `the value of its header field ${name} has a forbidden character`
  if (trimOws(value) !== value) return `the value of its header field ${name} begins or ends with white space`
  return undefined
}

function isScheme(scheme: string | undefined, expected: string | undefined): boolean {
  return expected === undefined ? scheme === 'http' || scheme === 'https' : scheme === expected
}

function isTarget(target: string, method: string): boolean {
  if (target === '*') return method === 'OPTIONS'
  if (!target.startsWith('/')) return false
  for (let index = 0; index < target.length; index++)
    if (TARGET_CHARS[target.charCodeAt(index)] !== 1) return false
  return true
}

function badRequest(reason: string): EdgeError {
  return edgeError('bad_request', reason)
}
