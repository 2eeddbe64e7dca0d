/** An element as the library reads it out of what was signed: attributes under `$`, children by name. */
type Element = { readonly $?: Readonly<Record<string, string>>; readonly _?: string } & {
  readonly [child: string]: unknown
}

const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'

/** For whom, when and in answer to what an assertion has to be made. Times in wall-clock milliseconds. */
export interface ExpectedAssertion {
  /** The identity provider's name; empty when its description has none. */
  readonly issuer: string
  /** Our address that takes answers. */
  readonly acs: string
  /** The request it answers; empty when the provider began by itself. */
  readonly requestId: string
  readonly now: number
  readonly maxSkewMs: number
  readonly maxAgeMs: number
}

/**
 * Checks in a signed assertion what the library checks only where it is written, or not at all: what is missing could
 * otherwise be used for ever, or by somebody else. Answers with the assertion's id, or throws a reason.
 */
export function requireValidAssertion(parsed: object, expected: ExpectedAssertion): string {
  const { issuer, now, maxSkewMs, maxAgeMs } = expected
  const assertion = (parsed as { Assertion?: Element }).Assertion
  if (assertion === undefined) throw new Error('it holds no assertion')
  if (issuer !== '' && elementText(onlyChild(assertion, 'Issuer')) !== issuer)
    throw new Error('it was issued by somebody else')
  const issuedAt = parseTime(assertion.$?.IssueInstant)
  if (issuedAt === undefined || issuedAt > now + maxSkewMs || issuedAt < now - maxAgeMs - maxSkewMs)
    throw new Error('it was not issued just now')
  const conditions = onlyChild(assertion, 'Conditions')
  const expiresAt = parseTime(conditions.$?.NotOnOrAfter)
  if (expiresAt !== undefined && expiresAt <= now - maxSkewMs) throw new Error('it has expired')
  const subject = onlyChild(assertion, 'Subject')
  if (elementText(onlyChild(subject, 'NameID')) === '') throw new Error('it names nobody')
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

function childElements(element: Element, name: string): Element[] {
  const nodes = element[name]
  return Array.isArray(nodes) ? nodes.map((child) => (typeof child === 'string' ? { _: child } : child)) : []
}

function onlyChild(element: Element, name: string): Element {
  const nodes = childElements(element, name)
  if (nodes.length !== 1) throw new Error(`it has ${nodes.length} elements ${name} where one belongs`)
  return nodes[0]!
}

function elementText({ _: text = '' }: Element): string {
  return text
}

function parseTime(text: string | undefined): number | undefined {
  const milliseconds = Date.parse(text ?? '')
  return Number.isNaN(milliseconds) ? undefined : milliseconds
}
