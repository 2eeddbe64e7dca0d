import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

/** An issuer of tokens with one key. `fetch` answers with its key set, without a server. */
export async function createTokenIssuer(url = 'https://id.test') {
  const { privateKey, publicKey } = await generateKeyPair('ES256')
  const keySet = { keys: [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' }] }
  const sign = (claims: JWTPayload = {}, header: { kid?: string; typ?: string } = {}, key = privateKey) =>
    new SignJWT({ iss: url, aud: 'shop', sub: 'ann', ...claims })
      .setProtectedHeader({ alg: 'ES256', kid: 'one', ...header })
      .setIssuedAt()
      .setExpirationTime(claims.exp ?? '1h')
      .sign(key)
  /** Settings of the module that accept its tokens for this audience. */
  const settings = (audience: string) => ({
    issuer: { allow_list: [{ value: url }] },
    audience: { allow_list: [{ value: audience }] },
    http: {
      tokens: [{ type: 'jwt', method: 'header', name: 'Authorization', prefix: 'Bearer ' }],
    },
    jws: {
      allowed_algorithms: ['ES256'],
      keys: { sources: { additional_jkus: [`${url}/keys`] } },
    },
  })
  return { url, keySet, sign, settings, fetch: async () => Response.json(keySet) }
}

/** A request with this token. */
export const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
