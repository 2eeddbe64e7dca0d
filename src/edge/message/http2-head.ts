import { parseHostPort } from '../../base/hostport.ts'
import { trimOws } from '../../base/optional-white-space.ts'
import { type Refusal, refusal } from '../errors.ts'
import { isFieldValue, isToken, TARGET } from './ascii.ts'
import { requestNames } from './field-names.ts'
import { FieldFacts, scanFields } from './field-scan.ts'
import { MAX_FIELDS, MAX_HEAD, MAX_TARGET, type RequestHead } from './request-head.ts'

/**
 * Reads an HTTP/2 request as if it had come in HTTP/1, through the same guard, so that nothing in it can change the
 * framing, method, target or host of what we write to the upstream (P26).
 */
export function readHttp2Head(
  raw: readonly string[],
  endStream: boolean,
  scheme: 'http' | 'https',
): RequestHead | Refusal {
  const pseudo = new Map<string, string>()
  const cookies: string[] = []
  let lines = ''
  let count = 0
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]!
    const value = raw[at + 1]!
    if (name.startsWith(':')) {
      if (pseudo.has(name)) return bad(`it has ${name} twice`)
      pseudo.set(name, value)
    } else if (!isHttp2Field(name, value)) return bad('a header field has a forbidden character')
    else {
      if (++count > MAX_FIELDS) return refusal('head_too_large')
      // RFC 9113 section 8.2.3: the pieces of a cookie are one field again.
      if (name === 'cookie') cookies.push(value)
      else lines += `${name}: ${value}\r\n`
    }
  }
  if (cookies.length > 0) lines += `cookie: ${cookies.join('; ')}\r\n`
  const target = pseudo.get(':path') ?? ''
  const method = pseudo.get(':method') ?? ''
  if (target.length > MAX_TARGET) return refusal('target_too_long')
  if (lines.length + target.length > MAX_HEAD) return refusal('head_too_large')
  if (!isToken(method)) return bad('its method is not valid')
  if (method === 'CONNECT') return refusal('method_refused', method)
  if (pseudo.get(':scheme') !== scheme) return bad('its scheme is not that of the connection')
  if (!isTarget(target, method)) return bad('its target is not valid')
  const facts = new FieldFacts()
  const fault = scanFields(`${lines}\r\n`, 0, requestNames, MAX_FIELDS, facts)
  if (fault !== undefined) return bad(fault)
  if (facts.chunked || facts.upgrade !== '' || facts.close || facts.keepAlive || facts.named !== undefined) {
    return bad('it has fields that HTTP/2 does not know')
  }
  if (facts.expectOther) return refusal('expectation_failed')
  if (endStream && facts.length > 0) return bad('its Content-Length is not valid')
  // Without a declared length the body is framed in chunks on the way on.
  if (!endStream && facts.length === -1) facts.chunked = true
  return withHost(method, target, pseudo.get(':authority'), facts)
}

function withHost(
  method: string,
  target: string,
  authority: string | undefined,
  facts: FieldFacts,
): RequestHead | Refusal {
  const named = authority ?? (facts.hosts === 1 ? facts.host : undefined)
  if (named === undefined) return bad('it names no host')
  const host = parseHostPort(named)
  if (host === undefined) return bad('its host is not valid')
  if (facts.hosts === 1) {
    const other = parseHostPort(facts.host)
    if (other?.host !== host.host || other.port !== host.port) return bad('its two hosts disagree')
  }
  return {
    method,
    target,
    minor: 1,
    host: host.host,
    authority: host.port === undefined ? host.host : `${host.host}:${host.port}`,
    facts,
  }
}

/** RFC 9113 section 8.2.1: no upper case in names, no blanks around values. */
export function isHttp2Field(name: string, value: string): boolean {
  return isToken(name) && name === name.toLowerCase() && isFieldValue(value) && trimOws(value) === value
}

function isTarget(target: string, method: string): boolean {
  if (target === '*') return method === 'OPTIONS'
  if (!target.startsWith('/')) return false
  for (let at = 0; at < target.length; at++) if (TARGET[target.charCodeAt(at)] !== 1) return false
  return true
}

function bad(why: string): Refusal {
  return refusal('bad_request', why)
}
