import { flag, text, uint32 } from '../value.ts'

// RFC 6265 token characters. The __Host- and __Secure- prefixes are promises of the browser that we make ourselves.
const COOKIE_PREFIX = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]*$/

/** Session settings shared by SAML, OIDC and OAuth. */
export const loginSession = {
  options_passthrough: flag(false),
  cookie_prefix: text(64, (value) => {
    if (!COOKIE_PREFIX.test(value)) return 'may only hold characters that a cookie name may have.'
    return /^__(host|secure)-/i.test(value) ? 'must not start with __Host- or __Secure-.' : undefined
  }),
  inactivity_timeout: uint32(0),
  maximum_duration: uint32(0),
}
