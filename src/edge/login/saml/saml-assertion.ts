import { childElements, type Element, elementText, onlyChild } from './saml-elements.ts'
import { RejectedMessage } from './saml-message.ts'

const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'

/** What a valid assertion must match. Times in wall-clock milliseconds. */
export interface ExpectedAssertion {
  /** Entity id of the identity provider; empty when its metadata has none. */
  readonly issuer: string
  /** Our assertion consumer service URL. */
  readonly acs: string
  /** The request it answers; empty when the sign-in is IdP-initiated. */
  readonly requestId: string
  readonly now: number
  readonly maxSkewMs: number
  readonly maxAgeMs: number
}

/**
 * Verifies what the library checks only if present, or not at all: an assertion without these limits could be used
 * forever, or by another recipient. Returns the assertion id, or throws a reason.
 */
export function requireValidAssertion(assertion: Element, expected: ExpectedAssertion): string {
  const { issuer, now, maxSkewMs, maxAgeMs } = expected
  if (issuer !== '' && elementText(onlyChild(assertion, 'Issuer')) !== issuer)
    throw new Error('it was issued by another provider')
  const issuedAt = parseTime(assertion.$?.IssueInstant)
  if (issuedAt === undefined || issuedAt > now + maxSkewMs || issuedAt < now - maxAgeMs - maxSkewMs)
    throw new RejectedMessage('clock_wrong', `it was issued at ${assertion.$?.IssueInstant ?? 'no time'}`)
  const conditions = onlyChild(assertion, 'Conditions')
  const expiresAt = parseTime(conditions.$?.NotOnOrAfter)
  if (expiresAt !== undefined && expiresAt <= now - maxSkewMs)
    throw new RejectedMessage('clock_wrong', `it expired at ${conditions.$?.NotOnOrAfter}`)
  const subject = onlyChild(assertion, 'Subject')
  if (elementText(onlyChild(subject, 'NameID')) === '') throw new Error('it names no subject')
  const confirmations = childElements(subject, 'SubjectConfirmation')
  if (!confirmations.some((confirmation) => isConfirmedForUs(confirmation, expected)))
    throw new Error('it is meant for another receiver, another request or another time')
  const id = assertion.$?.ID ?? ''
  if (id === '') throw new Error('it has no id')
  return id
}

function isConfirmedForUs(
  confirmation: Element,
  { acs, requestId, now, maxSkewMs }: ExpectedAssertion,
): boolean {
  const data = childElements(confirmation, 'SubjectConfirmationData')
  const { Recipient, NotBefore, NotOnOrAfter, InResponseTo = '' } = data[0]?.$ ?? {}
  const expiresAt = parseTime(NotOnOrAfter)
  return (
    confirmation.$?.Method === BEARER &&
    data.length === 1 &&
    Recipient === acs &&
    NotBefore === undefined &&
    expiresAt !== undefined &&
    expiresAt > now - maxSkewMs &&
    InResponseTo === requestId
  )
}

function parseTime(text: string | undefined): number | undefined {
  const milliseconds = Date.parse(text ?? '')
  return Number.isNaN(milliseconds) ? undefined : milliseconds
}
