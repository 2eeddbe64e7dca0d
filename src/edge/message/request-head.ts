import { type HostPort, parseHostPort } from '../../base/hostport.ts'
import { type Refusal, refusal } from '../errors.ts'
import { TARGET, TOKEN } from './ascii.ts'
import { requestNames } from './field-names.ts'
import { FieldFacts, scanFields } from './field-scan.ts'

/** Limits of a request head (P20). */
export const MAX_HEAD = 16 * 1024
export const MAX_FIELDS = 100
export const MAX_TARGET = 8 * 1024
const MAX_METHOD = 32

/** A request as the edge understood it: the one reading that routing, policy and the upstream all share. */
export interface RequestHead {
  readonly method: string
  /** Origin form (`/path?query`), or `*` for OPTIONS. */
  readonly target: string
  /** 0 or 1, of HTTP/1.x. */
  readonly minor: number
  /** Normalised host name: what decides. */
  readonly host: string
  /** The host with the port the visitor wrote, if any: what is passed on. */
  readonly authority: string
  readonly facts: FieldFacts
}

const SPACE = 32
const SLASH = 47

/**
 * Reads a whole HTTP/1 request head, the empty line included, or says why it is refused. `scheme` is that of the
 * connection, with which an absolute target must agree.
 */
export function parseRequestHead(text: string, scheme: 'http' | 'https'): RequestHead | Refusal {
  let p = 0
  while (TOKEN[text.charCodeAt(p)] === 1) p++
  if (p === 0 || p > MAX_METHOD || text.charCodeAt(p) !== SPACE) return bad('its request line is malformed')
  const method = text.slice(0, p)
  const start = ++p
  while (TARGET[text.charCodeAt(p)] === 1) p++
  if (p - start > MAX_TARGET) return refusal('target_too_long')
  if (p === start || text.charCodeAt(p) !== SPACE) return bad('its request line is malformed')
  let target = text.slice(start, p)
  const minor = versionAt(text, p + 1)
  if (typeof minor !== 'number') return minor
  // Whatever its target looks like: a reader behind us may take what follows for a tunnel (P29).
  if (method === 'CONNECT') return refusal('method_refused', method)
  const facts = new FieldFacts()
  const fault = scanFields(text, p + 11, requestNames, MAX_FIELDS, facts)
  if (fault !== undefined) {
    return fault === 'it has too many header fields' ? refusal('head_too_large') : bad(fault)
  }
  if (minor === 0 && facts.chunked) return bad('HTTP/1.0 has no Transfer-Encoding')
  if (facts.hosts === 0) return bad('it has no Host field')
  const host = hostOf(facts.host)
  if (host === undefined) return bad('its Host field is not valid')
  if (target.charCodeAt(0) !== SLASH) {
    const origin = originForm(method, target, scheme, host.host)
    if (typeof origin !== 'string') return origin
    target = origin
  }
  const authority = host.port === undefined ? host.host : `${host.host}:${host.port}`
  return { method, target, minor, host: host.host, authority, facts }
}

const HOSTS_KEPT = 1024
const hosts = new Map<string, HostPort>()

/** The same few hosts come again and again; the map only saves work and is emptied when full. */
function hostOf(text: string): HostPort | undefined {
  const known = hosts.get(text)
  if (known !== undefined) return known
  const host = parseHostPort(text)
  if (host === undefined) return undefined
  if (hosts.size >= HOSTS_KEPT) hosts.clear()
  hosts.set(text, host)
  return host
}

/** Why a head that is already too long, or not yet complete at the limit, is refused. */
export function oversizedHead(text: string): Refusal {
  const start = text.indexOf(' ') + 1
  const end = text.indexOf(' ', start)
  const length = (end === -1 ? text.length : end) - start
  return start > 0 && start <= MAX_METHOD + 1 && length > MAX_TARGET
    ? refusal('target_too_long')
    : refusal('head_too_large')
}

function versionAt(text: string, at: number): number | Refusal {
  if (text.startsWith('HTTP/1.1\r\n', at)) return 1
  if (text.startsWith('HTTP/1.0\r\n', at)) return 0
  return /^HTTP\/[0-9]\.[0-9]\r\n/.test(text.slice(at, at + 10))
    ? refusal('version_unsupported')
    : bad('its request line is malformed')
}

const ABSOLUTE = /^(https?):\/\/([^/?]*)(.*)$/is

function originForm(method: string, target: string, scheme: string, host: string): string | Refusal {
  if (target === '*') return method === 'OPTIONS' ? target : bad('its target is not valid')
  const match = ABSOLUTE.exec(target)
  if (match === null) return bad('its target is not valid')
  const [, given = '', authority = '', rest = ''] = match
  if (given.toLowerCase() !== scheme) return bad('the scheme of its target is not that of the connection')
  if (parseHostPort(authority)?.host !== host) return bad('its target and its Host field disagree')
  return rest.startsWith('/') ? rest : `/${rest}`
}

function bad(why: string): Refusal {
  return refusal('bad_request', why)
}
