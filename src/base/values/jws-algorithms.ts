/** Algorithms of signatures with a public key: a shared secret would have to be in what is configured. */
export const JWS_ALGORITHMS = [
  ...['ES256', 'ES384', 'ES512'],
  ...['RS256', 'RS384', 'RS512'],
  ...['PS256', 'PS384', 'PS512'],
  'EdDSA',
] as const
