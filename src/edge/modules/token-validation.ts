import { decodeJwt, errors, jwtVerify } from 'jose'
import { trimOws } from '../../base/http/optional-white-space.ts'
import type { Logger } from '../../base/process/log.ts'
import { isJson } from '../../base/text/is-json.ts'
import type { Exchange } from '../contracts/exchange.ts'
import { holdBody } from '../contracts/held-body.ts'
import { isInternalUrl } from '../services/internal-fetch.ts'
import type { InternalCaller, KeySets } from '../services/key-sets.ts'

/** Where a token is in a request. */
export interface TokenPlace {
  readonly method: 'header' | 'body'
  /** Of the header or the field of the body, in any case. */
  readonly name: string
  /** What precedes the token, in any case. */
  readonly prefix: string
}

/** What a token has to fulfil. */
export interface TokenRequirements {
  readonly type: string
  readonly issuers: readonly string[]
  /** Undefined when any audience is accepted. */
  readonly audiences: readonly string[] | undefined
  readonly algorithms: readonly string[]
  /** The URLs of key sets; empty when the configuration of the issuer names its own. */
  readonly keyUrls: readonly string[]
}

const MAX_BODY_BYTES = 1024 * 1024
const NOT_A_TOKEN = 'it is not a signed JSON Web Token'
/** Clocks of issuers differ from ours. */
const CLOCK_TOLERANCE_SECONDS = 5
/** Types of tokens that have a `typ` of their own in their header. */
const EXPLICIT_TYPES: ReadonlySet<string> = new Set(['at+jwt', 'it+jwt'])

/** Calls `use` with the request's body where a token is in it; never when the client disconnects before that. */
export function withTokenBody(
  exchange: Exchange,
  places: readonly Pick<TokenPlace, 'method'>[],
  use: (body: Buffer) => Promise<undefined>,
): Promise<undefined> {
  const isNeeded = places.some(({ method }) => method === 'body')
  if (!isNeeded || !['POST', 'PUT', 'PATCH'].includes(exchange.head.method)) return use(Buffer.alloc(0))
  const body = holdBody(exchange, MAX_BODY_BYTES)
  if (!(body instanceof Promise)) return use(body)
  return body.then((complete) => (complete === undefined ? undefined : use(complete)))
}

/** The token at a place of the request. */
export function findToken(
  exchange: Exchange,
  { method, name, prefix }: TokenPlace,
  body: Buffer,
): string | undefined {
  const key = name.toLowerCase()
  const value = method === 'header' ? exchange.fields.get(key) : bodyField(exchange, key, body)
  if (value === undefined || value.slice(0, prefix.length).toLowerCase() !== prefix.toLowerCase())
    return undefined
  return trimOws(value.slice(prefix.length)) || undefined
}

/** The field of a JSON object or a form with this name, in any case. */
function bodyField({ fields }: Exchange, key: string, body: Buffer): string | undefined {
  const type = (fields.get('content-type') ?? '').toLowerCase()
  const text = body.toString()
  const entries: Iterable<[string, unknown]> = type.includes('application/x-www-form-urlencoded')
    ? new URLSearchParams(text)
    : type.includes('json') && isJson(text)
      ? Object.entries((JSON.parse(text) as object | null) ?? {})
      : []
  for (const [name, value] of entries)
    if (name.toLowerCase() === key && typeof value === 'string') return value
  return undefined
}

/** RFC 7515 section 2: without padding. One token has one form, so that a rule or limit for it cannot be passed by another. */
const isBase64url = (part: string): boolean => Buffer.from(part, 'base64url').toString('base64url') === part

/** Why a token is not accepted; undefined when it is. */
export async function findTokenFault(
  text: string,
  { type, issuers, audiences, algorithms, keyUrls }: TokenRequirements,
  context: { keySets: KeySets; now: number; scope: string; log: Logger; internal?: InternalCaller },
): Promise<string | undefined> {
  const { keySets, internal } = context
  if (!text.split('.').every(isBase64url)) return NOT_A_TOKEN
  try {
    // Before its keys are looked up: an issuer that is not allowed must not make the server fetch anything.
    const { iss = '' } = decodeJwt(text)
    if (!issuers.includes(iss)) return 'its issuer is not accepted here'
    const isConfigured = keyUrls.length > 0
    const urls = isConfigured ? keyUrls : [await keySets.urlOfIssuer(iss, internal)]
    // A foreign issuer must not lead to what only the account may reach.
    const key = keySets.keyOf(urls, isConfigured || isInternalUrl(iss) ? internal : undefined)
    await jwtVerify(text, key, {
      issuer: [...issuers],
      ...(audiences === undefined ? {} : { audience: [...audiences] }),
      ...(EXPLICIT_TYPES.has(type) ? { typ: type } : {}),
      algorithms: [...algorithms],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(context.now),
    })
    return undefined
  } catch (error) {
    if (error instanceof errors.JWTExpired) return 'it has expired'
    if (error instanceof errors.JWTClaimValidationFailed)
      return `its claim "${error.claim}" is not accepted here`
    if (error instanceof errors.JOSEAlgNotAllowed) return 'its algorithm is not accepted here'
    if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature is not valid'
    if (error instanceof errors.JWKSNoMatchingKey) return 'its key is unknown'
    if (error instanceof errors.JWTInvalid || error instanceof errors.JWSInvalid) return NOT_A_TOKEN
    context.log.info({ endpoint: context.scope, reason: (error as Error).message }, 'token keys unavailable')
    return 'the keys of its issuer cannot be read'
  }
}
