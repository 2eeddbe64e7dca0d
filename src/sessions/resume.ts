import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../base/secret.ts'

/**
 * Proofs handed to agents that only this server can have made: that a ClientId is theirs (the cookie), and that an
 * address was theirs before (the token of a bind). Nothing is stored, so they also hold after a restart.
 */
export interface ResumeTokens {
  /** `fence`: that of the agent's session, so that its next one can have a higher one on any node. */
  createCookie(credentialId: string, clientId: string, fence: number): string
  /** The fence of the session the cookie was made in; undefined when it was not made for this agent. */
  verifyCookie(cookie: string, credentialId: string, clientId: string): number | undefined
  createBindToken(credentialId: string, url: string): string
  /** The URL the token was made for; undefined when it was not made for this credential. */
  verifyBindToken(token: string, credentialId: string): string | undefined
}

export function createResume(key: Secret<Buffer>): ResumeTokens {
  // As JSON, so that no two lists of facts look alike.
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
      // The release before this one gave out cookies without a fence.
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
