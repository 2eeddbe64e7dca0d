import type { ProviderTokenName } from '../services/logins.ts'
import { type Seal, sealedLength } from './seal.ts'

/** What a provider gave for a visitor. */
export type ProviderTokens = { readonly [N in ProviderTokenName]?: string }

/** Browsers drop a cookie of more than 4 KiB. */
const MAX_COOKIE_LENGTH = 3000

/**
 * How many cookies the sealed tokens may have. A request may have 16 KiB of header fields, and the session, the ticket of
 * a sign-in and the visitor's other cookies need room in them too.
 */
export const MAX_TOKEN_COOKIES = 2

/** A token that expires while its session goes on. */
type ExpiringToken = Exclude<ProviderTokenName, 'refresh_token'>

/** What a token endpoint gave. */
export interface TokenGrant {
  readonly tokens: ProviderTokens & { readonly access_token: string }
  /** Those of a verified ID token, if there was one. */
  readonly claims: Readonly<Record<string, unknown>> | undefined
  /** The ID token that the provider wants to see at a sign-out; absent where it has no such thing. */
  readonly logoutHint?: string
  /** Seconds for which a token is valid; absent where the provider does not say. */
  readonly lifetimes: { readonly [N in ExpiringToken]?: number }
}

/** Tokens as they are stored with a session; those of earlier releases have no times. Wall-clock seconds. */
export interface StoredTokens extends ProviderTokens {
  readonly issued_at?: number
  /** Absent where no stored token is known to expire, or there is no refresh token. */
  readonly renew_at?: number
  /** The ID token for a sign-out at the provider, unless that is stored as `identity_token` or too large. */
  readonly logout_hint?: string
}

/** A longer ID token is no hint for a sign-out: it would be in every request of its session. */
const MAX_LOGOUT_HINT_LENGTH = 2048

/** How long before its end a token is renewed, so that an upstream has time to use it. */
const RENEWAL_MARGIN_SECONDS = 60
/** A token that is only valid for seconds does not cost a renewal for every request. */
const MIN_RENEWAL_SECONDS = 5

/** Reads the response of a token endpoint. */
export function readGrant(
  response: { readonly access_token: string; readonly refresh_token?: string; readonly id_token?: string } & {
    expiresIn(): number | undefined
    claims(): { readonly exp: number; readonly iat: number; readonly [name: string]: unknown } | undefined
  },
): TokenGrant {
  const { access_token, refresh_token, id_token } = response
  const expiresIn = response.expiresIn()
  const claims = response.claims()
  return {
    tokens: {
      access_token,
      ...(refresh_token !== undefined && { refresh_token }),
      ...(id_token !== undefined && { identity_token: id_token }),
    },
    claims,
    lifetimes: {
      ...(expiresIn !== undefined && { access_token: expiresIn }),
      ...(claims !== undefined && { identity_token: claims.exp - claims.iat }),
    },
  }
}

/** Those of the tokens that are named. */
export function selectTokens(tokens: ProviderTokens, names: readonly ProviderTokenName[]): ProviderTokens {
  return Object.fromEntries(
    names.flatMap((name) => (tokens[name] === undefined ? [] : [[name, tokens[name]]])),
  )
}

/** The named tokens as a session stores them, with what renews them unless that is too large for cookies. */
export function toStoredTokens(
  { tokens, lifetimes }: Pick<TokenGrant, 'lifetimes'> & { readonly tokens: ProviderTokens },
  names: readonly ProviderTokenName[],
  nowSeconds: number,
): StoredTokens {
  const named = { ...selectTokens(tokens, names), issued_at: nowSeconds }
  const { refresh_token } = tokens
  const expiring = names.filter((name) => name !== 'refresh_token')
  if (refresh_token === undefined || expiring.length === 0) return named
  const lifetime = Math.min(...expiring.flatMap((name) => lifetimes[name] ?? []))
  const delay = Math.max(lifetime - RENEWAL_MARGIN_SECONDS, Math.floor(lifetime / 2), MIN_RENEWAL_SECONDS)
  const renewable = {
    ...named,
    refresh_token,
    ...(lifetime < Number.POSITIVE_INFINITY && { renew_at: nowSeconds + delay }),
  }
  return fitsCookies(JSON.stringify(renewable)) ? renewable : named
}

/** The same tokens with the hint for a sign-out, if there is room for it. */
export function addLogoutHint(
  tokens: StoredTokens | undefined,
  hint: string | undefined,
): StoredTokens | undefined {
  if (hint === undefined || hint.length > MAX_LOGOUT_HINT_LENGTH || tokens?.identity_token !== undefined)
    return tokens
  const complete = { ...tokens, logout_hint: hint }
  return fitsCookies(JSON.stringify(complete)) ? complete : tokens
}

/** The same tokens without the hint for a sign-out, which is worth less than a name or a group. */
export function dropLogoutHint(tokens: StoredTokens): StoredTokens | undefined {
  const { logout_hint: _, ...rest } = tokens
  return Object.keys(rest).length === 0 ? undefined : rest
}

/** Seals tokens for one owner, such as a session; undefined when they are too large for cookies. */
export function sealTokens(seal: Seal, ownerId: string, tokens: StoredTokens): string | undefined {
  return fitsCookies(JSON.stringify(tokens)) ? seal.encrypt(sealPurpose(ownerId), tokens) : undefined
}

function fitsCookies(text: string): boolean {
  return sealedLength(Buffer.byteLength(text)) <= MAX_TOKEN_COOKIES * MAX_COOKIE_LENGTH
}

/** Opens the tokens of an owner; undefined for what was sealed for another one. */
export function openTokens(seal: Seal, ownerId: string, text: string): StoredTokens | undefined {
  return seal.decrypt<StoredTokens>(sealPurpose(ownerId), text)
}

/** The values of the cookies that hold a sealed text. */
export function splitTokens(text: string): string[] {
  return Array.from({ length: Math.ceil(text.length / MAX_COOKIE_LENGTH) }, (_, index) =>
    text.slice(index * MAX_COOKIE_LENGTH, (index + 1) * MAX_COOKIE_LENGTH),
  )
}

const sealPurpose = (ownerId: string) => `tokens ${ownerId}`
