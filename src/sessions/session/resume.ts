import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../../base/values/secret.ts'

/**
 * Signed tokens that let an agent resume: the cookie proves its ClientId, the bind token proves an address it held before.
 * Nothing is stored, so both survive a restart of the server.
 */
export interface ResumeTokens {
  /** `fence`: the session's, so that the next session gets a higher one on any node. */
  createCookie(credentialId: string, clientId: string, fence: number): string
  /** The fence of the session that issued the cookie; undefined when it is not valid for this agent. */
  verifyCookie(cookie: string, credentialId: string, clientId: string): number | undefined
  createBindToken(credentialId: string, url: string): string
  /** The URL in the token; undefined when it is not valid for this credential. */
  verifyBindToken(token: string, credentialId: string): string | undefined
}

export function createResumeTokens(key: Secret<Buffer>): ResumeTokens {
  // JSON keeps the fields apart: no two lists serialize alike.
  const sign = (...fields: string[]) =>
    createHmac('sha256', key.reveal()).update(JSON.stringify(fields)).digest()
  const isSigned = (proof: string, ...fields: string[]) => {
    const actual = Buffer.from(proof, 'base64url')
    const expected = sign(...fields)
    return actual.length === expected.length && timingSafeEqual(actual, expected)
  }
  return {
    createCookie: (credentialId, clientId, fence) =>
      `${fence}.${sign('client', credentialId, clientId, String(fence)).toString('base64url')}`,
    verifyCookie(cookie, credentialId, clientId) {
      const [fence = '', proof] = cookie.split('.')
      // The previous release issued cookies without a fence.
      if (proof === undefined) return isSigned(cookie, 'client', credentialId, clientId) ? 0 : undefined
      return isSigned(proof, 'client', credentialId, clientId, fence) ? Number(fence) : undefined
    },
    createBindToken: (credentialId, url) =>
      `${Buffer.from(url).toString('base64url')}.${sign('bind', credentialId, url).toString('base64url')}`,
    verifyBindToken(token, credentialId) {
      const [encoded = '', proof = ''] = token.split('.')
      const url = Buffer.from(encoded, 'base64url').toString()
      return isSigned(proof, 'bind', credentialId, url) ? url : undefined
    },
  }
}
