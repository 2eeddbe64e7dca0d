import { createLocalJWKSet, decodeProtectedHeader, type JSONWebKeySet, jwtVerify } from 'jose'
import { JWS_ALGORITHMS } from '../../../base/values/jws-algorithms.ts'

/** A logout token is sent when the person signs out, so that an older one is a replay. */
export const MAX_LOGOUT_TOKEN_AGE_SECONDS = 120

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'
/** Section 2.4 recommends the first; most providers send the second, or nothing. */
const TYPES = ['logout+jwt', 'jwt']

/** What a verified logout token says. */
export interface LogoutToken {
  /** The id of the token, for one use. */
  readonly jti: string
  readonly sub: string | undefined
  /** The session at the provider; without one, all sessions of the person end. */
  readonly sid: string | undefined
}

/** The key id in the header of a token, which is not verified yet. */
export function keyIdOf(token: string): string | undefined {
  return decodeProtectedHeader(token).kid
}

/** Verifies a token as OpenID Connect Back-Channel Logout 1.0 section 2.6 requires; throws the reason. */
export async function verifyLogoutToken(
  token: string,
  {
    issuer,
    clientId,
    keys,
    announced,
    now,
    clockSkewSeconds,
  }: {
    readonly issuer: string
    readonly clientId: string
    readonly keys: JSONWebKeySet
    /** The algorithms of ID tokens in the provider's metadata. */
    readonly announced: readonly string[] | undefined
    /** Wall-clock milliseconds. */
    readonly now: number
    readonly clockSkewSeconds: number
  },
): Promise<LogoutToken> {
  const { payload, protectedHeader } = await jwtVerify(token, createLocalJWKSet(keys), {
    issuer,
    audience: clientId,
    // OpenID Connect Core section 3.1.3.7: RS256 where the provider says nothing.
    algorithms: JWS_ALGORITHMS.filter((algorithm) => (announced ?? ['RS256']).includes(algorithm)),
    maxTokenAge: MAX_LOGOUT_TOKEN_AGE_SECONDS,
    clockTolerance: clockSkewSeconds,
    currentDate: new Date(now),
    requiredClaims: ['jti', 'iat'],
  })
  const { jti = '', sub, sid, events, nonce } = payload
  const type = protectedHeader.typ?.toLowerCase().replace(/^application\//, '') ?? 'jwt'
  if (!TYPES.includes(type)) throw new Error(`its type is ${type}`)
  if (!isObject(events) || !isObject(events[EVENT])) throw new Error('it reports no sign-out')
  if (nonce !== undefined) throw new Error('it has a nonce, as ID tokens do')
  if (typeof jti !== 'string' || jti === '') throw new Error('it has no id')
  for (const [name, value] of Object.entries({ sub, sid }))
    if (value !== undefined && (typeof value !== 'string' || value === ''))
      throw new Error(`its ${name} is no text`)
  if (sub === undefined && sid === undefined) throw new Error('it names neither a person nor a session')
  return { jti, sub, sid: sid as string | undefined }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
