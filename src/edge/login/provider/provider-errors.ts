import * as client from 'openid-client'
import { OutboundProblem } from '../../../base/outbound/outbound.ts'
import type { FailureName } from '../failures.ts'
import { GrantRevoked, SignInError } from '../sign-in.ts'

/** What was asked of the provider. */
export type ProviderStep = 'metadata' | 'token' | 'userinfo'

/** RFC 6749 section 5.2, and what GitHub says in its place. */
const REVOKED_CODES = new Set(['invalid_grant', 'bad_refresh_token'])

/** Error codes of RFC 6749 and OpenID Connect Core section 3.1.2.6; any other one rejects the request. */
const FAILURE_BY_CODE: ReadonlyMap<string, FailureName> = new Map([
  ['access_denied', 'cancelled'],
  ['login_required', 'interaction_required'],
  ['interaction_required', 'interaction_required'],
  ['consent_required', 'interaction_required'],
  ['account_selection_required', 'interaction_required'],
  ['invalid_client', 'client_rejected'],
  ['unauthorized_client', 'client_rejected'],
  // GitHub and Facebook.
  ['incorrect_client_credentials', 'client_rejected'],
  ['invalid_grant', 'code_rejected'],
  ['bad_verification_code', 'code_rejected'],
  ['invalid_scope', 'scope_rejected'],
  ['server_error', 'provider_down'],
  ['temporarily_unavailable', 'provider_down'],
])

/** OpenSSL's reasons for which Node rejects the certificate of a server. */
const UNTRUSTED_CERTIFICATE =
  /^(?:ERR_TLS_CERT_ALTNAME_INVALID|CERT_[A-Z_]+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_(?:GET|VERIFY)_[A-Z_]+)$/

/** Rejects a response of a provider with the failure that fits what the libraries found wrong. */
export function rejectResponse(step: ProviderStep): (error: unknown) => never {
  return (error) => {
    throw toSignInError(error, step)
  }
}

/** Rejects a failed renewal: only the provider's own word ends a session. */
export function rejectRenewal(error: unknown): never {
  if (error instanceof client.ResponseBodyError && REVOKED_CODES.has(error.error))
    throw new GrantRevoked('the identity provider has ended this sign-in', { cause: error })
  throw toSignInError(error, 'token')
}

/** Which failure an error of the token endpoint is. */
export function failureOf(error: unknown): FailureName {
  return toSignInError(error, 'token').failure
}

/** The failure of a call that never got a response. */
export function toCallFailure(error: unknown): SignInError {
  return new SignInError(callFailure(error), { cause: error })
}

function callFailure(error: unknown): FailureName {
  if (!(error instanceof OutboundProblem)) return 'provider_down'
  if (['url', 'scheme', 'credentials', 'port', 'address'].includes(error.code)) return 'provider_forbidden'
  const codes = causes(error).map(({ code }) => code)
  return codes.some((code) => UNTRUSTED_CERTIFICATE.test(String(code)))
    ? 'provider_untrusted'
    : 'provider_down'
}

function toSignInError(error: unknown, step: ProviderStep): SignInError {
  const chain = causes(error)
  const known = chain.find((cause) => cause instanceof SignInError)
  return known ?? new SignInError(classify(chain, step), { cause: error })
}

/** What a provider and a library said about a failure: not for visitors, and from strangers. */
export interface FailureDetails {
  readonly error?: string
  readonly error_description?: string
  readonly reason?: string
}

export function describeFailure(failure: SignInError): FailureDetails {
  const chain = causes(failure.cause)
  const word = chain.find(
    (cause) =>
      cause instanceof client.AuthorizationResponseError || cause instanceof client.ResponseBodyError,
  )
  // The first cause says the most in its own words; libraries wrap it in general ones.
  const { message, code } = chain.at(-1) ?? {}
  // Such as that of OpenSSL; the codes of libraries say less than their messages.
  const isSystemCode = typeof code === 'string' && /^[A-Z_]+$/.test(code) && !code.startsWith('OAUTH_')
  const name = isSystemCode && !message?.includes(code) ? ` (${code})` : ''
  return {
    ...(word !== undefined && { error: toLine(word.error) }),
    ...(word?.error_description !== undefined && { error_description: toLine(word.error_description) }),
    ...(word === undefined && message !== undefined && { reason: toLine(`${message}${name}`) }),
  }
}

/** One line of limited length: strangers may have written it. */
function toLine(text: unknown): string {
  return String(text)
    .replace(/[\x00-\x1f\x7f-\x9f\u2028\u2029]+/g, ' ')
    .slice(0, 300)
}

interface LibraryError extends Error {
  readonly code?: unknown
}

/** An error with its causes, which libraries wrap several deep. */
function causes(error: unknown): LibraryError[] {
  const chain: LibraryError[] = []
  for (let cause = error; cause instanceof Error && chain.length < 8; cause = cause.cause) chain.push(cause)
  return chain
}

function classify(chain: readonly LibraryError[], step: ProviderStep): FailureName {
  for (const error of chain) {
    if (error instanceof client.AuthorizationResponseError || error instanceof client.ResponseBodyError)
      return FAILURE_BY_CODE.get(error.error) ?? 'request_rejected'
    if (error instanceof client.WWWAuthenticateChallengeError && step === 'token') return 'client_rejected'
  }
  if (step === 'metadata')
    return chain.some(({ code }) => code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED')
      ? 'issuer_mismatch'
      : 'discovery_failed'
  if (step === 'userinfo')
    // OpenID Connect Core section 5.3.2: the claims of another person.
    return chain.some(({ code }) => code === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED')
      ? 'response_invalid'
      : 'userinfo_rejected'
  return chain.map(classifyToken).find((failure) => failure !== undefined) ?? 'response_invalid'
}

/** What the library, which checks ID tokens, found wrong with one; it tells some of it only in words. */
function classifyToken({ code, message, cause }: LibraryError): FailureName | undefined {
  const { claim, alg, header } = (cause ?? {}) as {
    claim?: unknown
    alg?: unknown
    header?: { alg?: unknown }
  }
  if (code === 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED') return 'clock_wrong'
  if (code === 'OAUTH_KEY_SELECTION_FAILED') return 'signature_mismatch'
  if (code === 'OAUTH_JWT_CLAIM_COMPARISON_FAILED')
    return ['aud', 'iss', 'azp'].includes(String(claim)) ? 'token_invalid' : undefined
  if (message.includes('JWE')) return 'token_encrypted'
  // Not `none`, which nobody sets up by mistake.
  return /^[A-Z]{2}\d{3}$/.test(String(alg ?? header?.alg)) ? 'algorithm_unsupported' : undefined
}
