import type { ProviderTokenName } from '../modules/login.ts'
import type { Seal } from './seal.ts'

/** What a provider gave for a visitor. */
export type ProviderTokens = { readonly [N in ProviderTokenName]?: string }

/** Browsers drop a cookie of more than 4 KiB. */
const MAX_COOKIE_LENGTH = 3000

/**
 * How many cookies the sealed tokens may have. A request may have 16 KiB of header fields, and the session, the ticket of
 * a sign-in and the visitor's other cookies need room in them too.
 */
export const MAX_TOKEN_COOKIES = 2

/** The tokens in the response of a token endpoint. */
export function readTokens({
  access_token,
  refresh_token,
  id_token,
}: {
  readonly access_token: string
  readonly refresh_token?: string
  readonly id_token?: string
}): ProviderTokens {
  return {
    access_token,
    ...(refresh_token !== undefined && { refresh_token }),
    ...(id_token !== undefined && { identity_token: id_token }),
  }
}

/** Those of the tokens that are named. */
export function selectTokens(tokens: ProviderTokens, names: readonly ProviderTokenName[]): ProviderTokens {
  return Object.fromEntries(
    names.flatMap((name) => (tokens[name] === undefined ? [] : [[name, tokens[name]]])),
  )
}

/** Seals tokens for one owner, such as a session; undefined when they are too large for cookies. */
export function sealTokens(seal: Seal, ownerId: string, tokens: ProviderTokens): string | undefined {
  const text = seal.encrypt(sealPurpose(ownerId), tokens)
  return text.length <= MAX_TOKEN_COOKIES * MAX_COOKIE_LENGTH ? text : undefined
}

/** Opens the tokens of an owner; undefined for what was sealed for another one. */
export function openTokens(seal: Seal, ownerId: string, text: string): ProviderTokens | undefined {
  return seal.decrypt<ProviderTokens>(sealPurpose(ownerId), text)
}

/** The values of the cookies that hold a sealed text. */
export function splitTokens(text: string): string[] {
  return Array.from({ length: Math.ceil(text.length / MAX_COOKIE_LENGTH) }, (_, index) =>
    text.slice(index * MAX_COOKIE_LENGTH, (index + 1) * MAX_COOKIE_LENGTH),
  )
}

const sealPurpose = (ownerId: string) => `tokens ${ownerId}`
