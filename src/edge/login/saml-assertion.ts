/** An element as the library reads it out of what was signed: attributes under `$`, children by name. */
type Element = { readonly $?: Readonly<Record<string, string>>; readonly _?: string } & {
  readonly [child: string]: unknown
}

const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'

/** For whom, when and in answer to what an assertion has to be made. Times in wall-clock milliseconds. */
export interface Expected {
  /** The identity provider's name; empty when its description has none. */
  readonly issuer: string
  /** Our address that takes answers. */
  readonly acs: string
  /** The request it answers; empty when the provider began by itself. */
  readonly requestId: string
  readonly now: number
  readonly skew: number
  readonly oldest: number
}

/**
 * Checks in a signed assertion what the library checks only where it is written, or not at all: what is missing could
 * otherwise be used for ever, or by somebody else. Answers with the assertion's id, or throws a reason.
 */
export function requireForUs(parsed: object, expected: Expected): string {
  const { issuer, now, skew, oldest } = expected
  const assertion = (parsed as { Assertion?: Element }).Assertion
  if (assertion === undefined) throw new Error('it holds no assertion')
  if (issuer !== '' && textOf(only(assertion, 'Issuer')) !== issuer)
    throw new Error('it was issued by somebody else')
  const issued = time(assertion.$?.IssueInstant)
  if (issued === undefined || issued > now + skew || issued < now - oldest - skew)
    throw new Error('it was not issued just now')
  const conditions = only(assertion, 'Conditions')
  const until = time(conditions.$?.NotOnOrAfter)
  if (until !== undefined && until <= now - skew) throw new Error('it has expired')
  const subject = only(assertion, 'Subject')
  if (textOf(only(subject, 'NameID')) === '') throw new Error('it names nobody')
  const confirmations = children(subject, 'SubjectConfirmation')
  if (!confirmations.some((confirmation) => isForUs(confirmation, expected)))
    throw new Error('it is meant for another receiver, another request or another time')
  const id = assertion.$?.ID ?? ''
  if (id === '') throw new Error('it has no id')
  return id
}

function isForUs(confirmation: Element, { acs, requestId, now, skew }: Expected): boolean {
  const data = children(confirmation, 'SubjectConfirmationData')
  const { Recipient, NotBefore, NotOnOrAfter, InResponseTo = '' } = data[0]?.$ ?? {}
  const until = time(NotOnOrAfter)
  return (
    confirmation.$?.Method === BEARER &&
    data.length === 1 &&
    Recipient === acs &&
    NotBefore === undefined &&
    until !== undefined &&
    until > now - skew &&
    InResponseTo === requestId
  )
}

function children(element: Element, name: string): Element[] {
  const found = element[name]
  return Array.isArray(found) ? found.map((child) => (typeof child === 'string' ? { _: child } : child)) : []
}

function only(element: Element, name: string): Element {
  const found = children(element, name)
  if (found.length !== 1) throw new Error(`it has ${found.length} elements ${name} where one belongs`)
  return found[0]!
}

function textOf({ _: text = '' }: Element): string {
  return text
}

function time(text: string | undefined): number | undefined {
  const at = Date.parse(text ?? '')
  return Number.isNaN(at) ? undefined : at
}
