import { createHash, timingSafeEqual } from 'node:crypto'
import { edgeError } from '../errors.ts'
import type { Exchange } from '../exchange.ts'
import type { RequestStep } from '../module.ts'
import { ModuleConfigError } from './context.ts'

/** A credential from an agent's endpoint options. */
export interface BasicCredential {
  readonly username: string
  readonly password: string
}

/** Requires HTTP basic authentication (RFC 7617). Only agents' endpoints have it; there is no such edge module. */
export function basicAuth(credentials: readonly BasicCredential[]): RequestStep {
  if (credentials.length === 0) throw new ModuleConfigError('no credential is configured')
  const digests = credentials.map(({ username, password }) => digest(`${username}:${password}`))

  return (exchange) => {
    const credential = parseCredential(exchange)
    const presentedDigest = digest(credential ?? '')
    // Compares every credential, and digests of equal length, so that timing reveals nothing.
    let admitted = false
    for (const expected of digests) if (timingSafeEqual(expected, presentedDigest)) admitted = true
    admitted &&= credential !== undefined
    exchange.note('basic_auth.decision', admitted ? 'allow' : 'block')
    if (!admitted || credential === undefined) throw edgeError('credentials_required')
    exchange.note('basic_auth.username', credential.slice(0, credential.indexOf(':')))
    return undefined
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
