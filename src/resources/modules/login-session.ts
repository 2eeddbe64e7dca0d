import { optionalText, optionalTexts } from '../option.ts'
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

/** The fields that OAuth and OIDC have in common in a message, besides `client_id`. */
export const loginFields = {
  client_secret: optionalText,
  scopes: optionalTexts,
  allow_domains: optionalTexts,
  allow_emails: optionalTexts,
}

/** What OAuth and OIDC have in common in the options of a tunnel. */
export interface LoginOption {
  readonly clientId: string
  readonly clientSecret: string
  readonly allowEmails: readonly string[]
  readonly allowDomains: readonly string[]
  readonly scopes: readonly string[]
}

export function decodeLogin(field: {
  client_id?: string
  client_secret?: string
  allow_emails?: string[]
  allow_domains?: string[]
  scopes?: string[]
}): LoginOption {
  return {
    clientId: field.client_id ?? '',
    clientSecret: field.client_secret ?? '',
    allowEmails: field.allow_emails ?? [],
    allowDomains: field.allow_domains ?? [],
    scopes: field.scopes ?? [],
  }
}
