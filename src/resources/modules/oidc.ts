import { httpUrl } from '../formats.ts'
import { defineModule } from '../module.ts'
import { list, required, secret, text } from '../value.ts'
import { loginSession } from './login-session.ts'

/** Requires clients to sign in at an OpenID provider. */
export const Oidc = defineModule('oidc', {
  ...loginSession,
  issuer: required(httpUrl(255)),
  client_id: required(text(1024, (value) => (value === '' ? 'must not be empty.' : undefined))),
  client_secret: required(
    secret(
      text(4096, (value) => (value === '' ? 'must not be empty.' : undefined)),
      'shown',
    ),
  ),
  scopes: list(text(255), { maxItems: 50 }),
})
