import { flag, text, uint32, withDefault } from '../value.ts'

// RFC 6265 token characters. The edge sets the __Host- and __Secure- prefixes itself, since browsers enforce them.
const COOKIE_PREFIX = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]*$/

// Document 2: the service's own name followed by a period.
const DEFAULT_PREFIX = 'adit.'

const prefix = text(64, (value) => {
  if (!COOKIE_PREFIX.test(value)) return 'may only hold characters that a cookie name may have.'
  return /^__(host|secure)-/i.test(value) ? 'must not start with __Host- or __Secure-.' : undefined
})

/** Session settings shared by SAML, OIDC and OAuth. */
export const loginSession = {
  options_passthrough: flag(false),
  cookie_prefix: {
    ...withDefault(prefix, DEFAULT_PREFIX),
    check: (value: string, path: string) => prefix.check(value, path) || DEFAULT_PREFIX,
  },
  inactivity_timeout: uint32(0),
  maximum_duration: uint32(0),
}
