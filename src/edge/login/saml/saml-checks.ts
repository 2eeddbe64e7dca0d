import { type Profile, SAML, type SamlConfig, ValidateInResponseTo } from '@node-saml/node-saml'
import { errorMessage } from '../../../base/text/error-message.ts'
import type { XmlLimits } from '../../../base/text/xml-scan.ts'
import type { FailureName } from '../failures.ts'
import type { Identity } from '../sign-in.ts'
import { requireValidAssertion } from './saml-assertion.ts'
import type { Element } from './saml-elements.ts'
import { type AttributeNames, readIdentity } from './saml-identity.ts'
import { MAX_ASSERTION_AGE_MS, MAX_CLOCK_SKEW_MS } from './saml-limits.ts'
import { parseSignedQuery } from './saml-logout.ts'
import {
  parsePostedMessage,
  RejectedMessage,
  requireRoot,
  requireSuccess,
  type SamlMessage,
  UnknownKey,
} from './saml-message.ts'
import { type IdentityProvider, parseIdpMetadata } from './saml-metadata.ts'

/** The sender of a message, and the recipient it must be addressed to. */
export interface Parties {
  readonly idp: IdentityProvider
  readonly entityId: string
  /** Our URL for this kind of message. */
  readonly address: string
}

/** Everything that parses foreign XML. Each runs in a worker thread, because the sender controls its cost. */
export type SamlCheck =
  | { readonly kind: 'metadata'; readonly xml: string; readonly limits: XmlLimits }
  | {
      readonly kind: 'response'
      readonly parties: Parties
      /** The base64 value of the form field. */
      readonly message: string
      /** The request it must answer; empty when the sign-in is IdP-initiated. */
      readonly requestId: string
      readonly attributes: AttributeNames
      /** Wall-clock milliseconds. */
      readonly now: number
    }
  | { readonly kind: 'logout-query'; readonly parties: Parties; readonly query: string }
  | { readonly kind: 'logout-form'; readonly parties: Parties; readonly message: string }

/** A verified identity, and the id of its single-use assertion. */
export interface CheckedResponse {
  readonly assertionId: string
  readonly identity: Identity
}

/** Why a message was rejected; the reason is not for visitors. */
export interface Rejection {
  readonly failure: FailureName
  readonly reason: string
  /** Newer metadata may have the key. */
  readonly isKeyUnknown: boolean
}

/** A logout request signed by the provider. */
export interface CheckedLogout {
  readonly id: string
  readonly issuer: string
  readonly nameId: string
  readonly nameIdFormat: string
  readonly relayState: string
}

export interface SamlCheckResults {
  metadata: IdentityProvider
  response: CheckedResponse | Rejection
  /** Undefined for a logout response, which requires no action. */
  'logout-query': CheckedLogout | Rejection | undefined
  'logout-form': CheckedLogout | Rejection
}

/** Runs one check; throws a reason. */
export async function runSamlCheck(check: SamlCheck): Promise<SamlCheckResults[SamlCheck['kind']]> {
  switch (check.kind) {
    case 'metadata':
      return parseIdpMetadata(check.xml, check.limits)
    case 'response':
      return checkResponse(check).catch(toRejection)
    case 'logout-query':
      return checkLogoutQuery(check).catch(toLogoutRejection)
    case 'logout-form':
      return checkLogoutForm(check).catch(toLogoutRejection)
  }
}

function toRejection(error: unknown): Rejection {
  return {
    failure: error instanceof RejectedMessage ? error.failure : 'response_invalid',
    reason: errorMessage(error),
    isKeyUnknown: error instanceof UnknownKey,
  }
}

function toLogoutRejection(error: unknown): Rejection {
  return { ...toRejection(error), failure: 'logout_invalid' }
}

async function checkResponse({
  parties,
  message,
  requestId,
  attributes,
  now,
}: Extract<SamlCheck, { kind: 'response' }>): Promise<CheckedResponse> {
  const parsed = parsePostedMessage(message)
  requireRoot(parsed, 'Response', parties.address)
  requireSuccess(parsed)
  const saml = createValidator(parties, {
    validateInResponseTo: requestId === '' ? ValidateInResponseTo.never : ValidateInResponseTo.always,
    cacheProvider: {
      saveAsync: async (key, value) => ({ value, createdAt: now, key }),
      getAsync: async (key) => (key === requestId ? new Date(now).toISOString() : null),
      removeAsync: async (key) => key,
    },
  })
  const { profile } = await saml
    .validatePostResponseAsync({ SAMLResponse: message })
    .catch((error: unknown) => rejectByWords(error, parsed, parties.idp))
  // What was signed, and nothing of the message around it.
  const { Assertion: assertion } = (profile?.getAssertion?.() ?? {}) as { Assertion?: Element }
  if (assertion === undefined) throw new Error('it holds no assertion')
  const assertionId = requireValidAssertion(assertion, {
    issuer: parties.idp.entityId,
    acs: parties.address,
    requestId,
    now,
    maxSkewMs: MAX_CLOCK_SKEW_MS,
    maxAgeMs: MAX_ASSERTION_AGE_MS,
  })
  return { assertionId, identity: readIdentity(assertion, attributes) }
}

/** The library tells only in words what a provider could be set up wrongly for. */
function rejectByWords(error: unknown, message: SamlMessage, idp: IdentityProvider): never {
  const words = errorMessage(error)
  if (words.startsWith('Invalid signature')) {
    if (!isSigned(message)) throw new RejectedMessage('assertion_unsigned', 'it is not signed')
    const keys = listNamedKeys(message)
    if (keys.length === 0) throw new UnknownKey('response_invalid', words)
    // One that names a known key was changed after it was signed.
    if (!keys.some((key) => idp.certificates.includes(key))) throw new UnknownKey('signature_mismatch', words)
  }
  if (/ expired| not yet valid|^No valid subject confirmation/.test(words))
    throw new RejectedMessage('clock_wrong', words)
  if (words.includes('AudienceRestriction') || words.includes('audience'))
    throw new RejectedMessage('audience_mismatch', words)
  throw error
}

function isSigned({ elements }: SamlMessage): boolean {
  return elements.some(({ localName }) => localName === 'Signature')
}

function listNamedKeys({ xml }: SamlMessage): string[] {
  return xml
    .split('X509Certificate>')
    .slice(1)
    .map((text) => text.slice(0, text.indexOf('<')).replace(/\s+/g, ''))
    .filter((text) => text !== '')
}

function rejectLogout(error: unknown): never {
  const words = errorMessage(error)
  throw /^Invalid (?:query )?signature/.test(words) ? new UnknownKey('logout_invalid', words) : error
}

async function checkLogoutQuery({
  parties,
  query,
}: Extract<SamlCheck, { kind: 'logout-query' }>): Promise<CheckedLogout | undefined> {
  const signed = await parseSignedQuery(query)
  if (signed === undefined) return undefined
  requireRoot(signed.message, 'LogoutRequest', parties.address)
  const { profile } = await createValidator(parties)
    .validateRedirectAsync(signed.container, signed.orderedQuery)
    .catch(rejectLogout)
  return toCheckedLogout(profile, signed.container.RelayState ?? '')
}

async function checkLogoutForm({
  parties,
  message,
}: Extract<SamlCheck, { kind: 'logout-form' }>): Promise<CheckedLogout> {
  const parsed = parsePostedMessage(message)
  requireRoot(parsed, 'LogoutRequest', parties.address)
  if (!isSigned(parsed)) throw new Error('it is not signed')
  const { profile } = await createValidator(parties)
    .validatePostRequestAsync({ SAMLRequest: message })
    .catch(rejectLogout)
  return toCheckedLogout(profile, '')
}

function createValidator({ idp, entityId, address }: Parties, overrides: Partial<SamlConfig> = {}): SAML {
  return new SAML({
    callbackUrl: address,
    issuer: entityId,
    audience: entityId,
    ...(idp.entityId !== '' && { idpIssuer: idp.entityId }),
    idpCert: [...idp.certificates],
    // Either signature covers the assertion and one is required: many providers sign only the response.
    wantAssertionsSigned: false,
    wantAuthnResponseSigned: false,
    acceptedClockSkewMs: MAX_CLOCK_SKEW_MS,
    // As long as used assertion ids are remembered.
    maxAssertionAgeMs: MAX_ASSERTION_AGE_MS,
    ...overrides,
  })
}

function toCheckedLogout(profile: Profile | null, relayState: string): CheckedLogout {
  if (profile === null) throw new Error('it names no subject')
  const { ID: id, issuer, nameID: nameId, nameIDFormat: nameIdFormat = '' } = profile
  if (typeof id !== 'string' || id === '') throw new Error('it has no id')
  return { id, issuer, nameId, nameIdFormat, relayState }
}
