import { createHmac, timingSafeEqual } from 'node:crypto'
import type { Secret } from '../base/secret.ts'

/**
 * Proofs handed to agents that only this server can have made: that a ClientId is theirs (the cookie), and that an
 * address was theirs before (the token of a bind). Nothing is stored, so they also hold after a restart.
 */
export interface Resume {
  /** `fence`: that of the agent's session, so that its next one can have a higher one on any node. */
  cookie(credentialId: string, clientId: string, fence: number): string
  /** The fence of the session the cookie was made in; undefined when it was not made for this agent. */
  fenceOf(cookie: string, credentialId: string, clientId: string): number | undefined
  bindToken(credentialId: string, url: string): string
  /** The URL the token was made for; undefined when it was not made for this credential. */
  boundUrl(token: string, credentialId: string): string | undefined
}

export function createResume(key: Secret<Buffer>): Resume {
  // As JSON, so that no two lists of facts look alike.
  const sign = (...facts: string[]) =>
    createHmac('sha256', key.reveal()).update(JSON.stringify(facts)).digest()
  const isSigned = (proof: string, ...facts: string[]) => {
    const given = Buffer.from(proof, 'base64url')
    const expected = sign(...facts)
    return given.length === expected.length && timingSafeEqual(given, expected)
  }
  return {
    cookie: (credentialId, clientId, fence) =>
      `${fence}.${sign('client', credentialId, clientId, String(fence)).toString('base64url')}`,
    fenceOf(cookie, credentialId, clientId) {
      const [fence = '', proof] = cookie.split('.')
      // The release before this one gave out cookies without a fence.
      if (proof === undefined) return isSigned(cookie, 'client', credentialId, clientId) ? 0 : undefined
      return isSigned(proof, 'client', credentialId, clientId, fence) ? Number(fence) : undefined
    },
    bindToken: (credentialId, url) =>
      `${Buffer.from(url).toString('base64url')}.${sign('bind', credentialId, url).toString('base64url')}`,
    boundUrl(token, credentialId) {
      const [encoded = '', proof = ''] = token.split('.')
      const url = Buffer.from(encoded, 'base64url').toString()
      return isSigned(proof, 'bind', credentialId, url) ? url : undefined
    },
  }
}
