import { createHash, timingSafeEqual } from 'node:crypto'
import type { BasicAuth, Settings } from '../../resources/index.ts'
import type { Exchange } from '../contracts/exchange.ts'
import type { RequestStep } from '../contracts/module.ts'
import { edgeError } from '../errors.ts'
import { ModuleConfigError } from './context.ts'

/** A credential from an agent's endpoint options. */
export interface BasicCredential {
  readonly username: string
  readonly password: string
}

/** Requires HTTP basic authentication (RFC 7617). Only agents' endpoints have it; there is no such edge module. */
export function basicAuth(
  credentials: readonly BasicCredential[],
  settings?: Settings<typeof BasicAuth>,
): RequestStep {
  const check = compileCredentials(credentials.map(({ username, password }) => `${username}:${password}`))

  return (exchange) => {
    if (settings?.allow_options && exchange.head.method === 'OPTIONS') return undefined
    if (check(exchange).authorized) return undefined
    const error = edgeError('credentials_required')
    throw settings?.realm ? error.withRealm(settings.realm) : error
  }
}

/** What a request presented. */
export interface PresentedCredential {
  readonly presented: boolean
  /** Empty when nothing was presented. */
  readonly username: string
  readonly authorized: boolean
}

/** Compiles a check for one of these credentials, each `user:password`; it annotates the exchange with its decision. */
export function compileCredentials(
  credentials: readonly string[],
): (exchange: Exchange) => PresentedCredential {
  if (credentials.length === 0) throw new ModuleConfigError('no credential is configured')
  const digests = credentials.map(digest)

  return (exchange) => {
    const credential = parseCredential(exchange)
    const presentedDigest = digest(credential ?? '')
    // Compares every credential, and digests of equal length, so that timing reveals nothing.
    let authorized = false
    for (const expected of digests) if (timingSafeEqual(expected, presentedDigest)) authorized = true
    authorized &&= credential !== undefined
    const username = credential?.slice(0, credential.indexOf(':')) ?? ''
    exchange.annotate('basic_auth.decision', authorized ? 'allow' : 'block')
    if (authorized) exchange.annotate('basic_auth.username', username)
    return { presented: credential !== undefined, username, authorized }
  }
}

const BASIC = /^basic +([A-Za-z0-9+/]+={0,2})$/i

/** `user:password` from the request. */
function parseCredential({ fields }: Exchange): string | undefined {
  const all = fields.getAll('authorization')
  const encoded = all.length === 1 ? BASIC.exec(all[0]!)?.[1] : undefined
  const text = encoded === undefined ? undefined : Buffer.from(encoded, 'base64').toString()
  return text?.includes(':') ? text : undefined
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
