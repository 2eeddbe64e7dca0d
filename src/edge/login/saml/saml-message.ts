import { readEncoding, scanXml, type XmlElement, type XmlLimits } from '../../../base/text/xml-scan.ts'
import type { FailureName } from '../failures.ts'

const DSIG = 'http://www.w3.org/2000/09/xmldsig#'
const DSIG_MORE = 'http://www.w3.org/2001/04/xmldsig-more#'
const XMLENC = 'http://www.w3.org/2001/04/xmlenc#'
const STATUS = 'urn:oasis:names:tc:SAML:2.0:status:'
const SUCCESS_STATUS = `${STATUS}Success`

/** A message that an honest provider sends when it, or its service provider, is set up wrongly. */
export class RejectedMessage extends Error {
  override name = 'RejectedMessage'
  readonly failure: FailureName

  constructor(failure: FailureName, message: string) {
    super(message)
    this.failure = failure
  }
}

/** A message whose signature matches no key of the provider's metadata, which may be older than the key. */
export class UnknownKey extends RejectedMessage {
  override name = 'UnknownKey'
}

/** The algorithms a message may name: strong signatures, and transforms that keep all content. */
const ALLOWED_ALGORITHMS = new Set([
  `${DSIG_MORE}rsa-sha256`,
  `${DSIG_MORE}rsa-sha384`,
  `${DSIG_MORE}rsa-sha512`,
  `${XMLENC}sha256`,
  `${DSIG_MORE}sha384`,
  `${XMLENC}sha512`,
  `${DSIG}enveloped-signature`,
  'http://www.w3.org/2001/10/xml-exc-c14n#',
  'http://www.w3.org/2001/10/xml-exc-c14n#WithComments',
  'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
  'http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments',
])

/**
 * Verification costs the square of the number of siblings, once per signature and certificate; the limits leave room
 * for about 900 groups. Comments and CDATA are rejected: signatures do not cover comments, and parsers disagree about
 * text that either of them splits.
 */
export const MESSAGE_LIMITS: XmlLimits = {
  maxBytes: 128 * 1024,
  maxDepth: 32,
  maxElements: 1000,
  maxAttributes: 3000,
  maxAttributesPerElement: 32,
  maxSections: 0,
}

/** SAML core 3.2.2.2: why a provider asserts nothing; other reasons are about the request. */
const FAILURE_BY_STATUS: ReadonlyMap<string, FailureName> = new Map([
  [`${STATUS}AuthnFailed`, 'cancelled'],
  [`${STATUS}RequestDenied`, 'cancelled'],
  [`${STATUS}NoPassive`, 'interaction_required'],
])

/** The library searches every prefix on every element. */
const MAX_PREFIX_LIST_LENGTH = 1024

/** How often an element may occur: a signed copy could be hidden beside the one that is read. */
const MAX_OCCURRENCES: Readonly<Record<string, number>> = {
  Response: 1,
  Assertion: 1,
  LogoutRequest: 1,
  // One for the response and one for the assertion; each part occurs once in a valid signature.
  Signature: 2,
  SignedInfo: 2,
  SignatureValue: 2,
  SignatureMethod: 2,
  CanonicalizationMethod: 2,
  Reference: 2,
  DigestMethod: 2,
  DigestValue: 2,
  Transforms: 2,
  Transform: 4,
  InclusiveNamespaces: 6,
  // It would be canonicalized with the rest, and nothing in it is read.
  Object: 0,
  Manifest: 0,
}

/** A message that passed the checks before the library parses it. */
export interface SamlMessage {
  readonly xml: string
  readonly root: XmlElement
  readonly elements: readonly XmlElement[]
}

/** Parses a message from a form field. */
export function parsePostedMessage(encoded: string): SamlMessage {
  const bytes = Buffer.from(encoded, 'base64')
  try {
    return parseMessage(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch (error) {
    throw error instanceof TypeError ? new Error('it is not in UTF-8') : error
  }
}

/** Parses XML in which only signed content can be read; throws a reason. */
export function parseMessage(xml: string): SamlMessage {
  const elements = scanXml(xml, MESSAGE_LIMITS)
  if ((readEncoding(xml) ?? 'utf-8') !== 'utf-8') throw new Error('it is not in UTF-8')
  if (elements.some(({ localName }) => localName === 'EncryptedAssertion'))
    throw new RejectedMessage('assertion_encrypted', 'it holds an encrypted assertion')
  requireMaxOccurrences(elements)
  const ids = new Set<string>()
  for (const { attributes } of elements)
    for (const [name, value] of attributes) {
      const localName = name.slice(name.indexOf(':') + 1)
      if (localName.toLowerCase() === 'id') {
        // A character reference would make equal ids look different.
        if (ids.has(value) || value.includes('&')) throw new Error('it holds an id twice')
        ids.add(value)
      } else if (localName === 'Algorithm' && !ALLOWED_ALGORITHMS.has(value)) rejectAlgorithm(value)
      else if (localName === 'PrefixList' && value.length > MAX_PREFIX_LIST_LENGTH)
        throw new Error('it names too many prefixes')
    }
  return { xml, root: elements[0]!, elements }
}

/** Throws unless the root has this name and, if it names a destination, this address. */
export function requireRoot({ root }: SamlMessage, localName: string, address: string): void {
  if (root.localName !== localName) throw new Error(`it is no ${localName}`)
  const destination = root.attributes.get('Destination')
  if (destination !== undefined && destination !== address)
    throw new Error('it is meant for another receiver')
}

/**
 * SAML core 3.2.2.2: only a response with status Success asserts anything. The library checks this only without an
 * assertion.
 */
export function requireSuccess({ root, elements }: SamlMessage): void {
  const statuses = elements.filter(({ parent, localName }) => parent === root && localName === 'Status')
  const codes = elements.filter(
    ({ parent, localName }) => parent === statuses[0] && localName === 'StatusCode',
  )
  if (statuses.length !== 1 || codes.length !== 1) throw new Error('it has no status')
  const [code] = codes
  const status = code!.attributes.get('Value') ?? ''
  if (status === SUCCESS_STATUS) return
  const details = elements.filter(({ parent, localName }) => parent === code && localName === 'StatusCode')
  const detail = details[0]?.attributes.get('Value') ?? ''
  const words = [status, detail].map((text) => text.slice(text.lastIndexOf(':') + 1)).join(' ')
  throw new RejectedMessage(FAILURE_BY_STATUS.get(detail) ?? 'request_rejected', `its status is ${words}`)
}

/** An honest provider may still use SHA-1, and nothing else that is not allowed. */
function rejectAlgorithm(name: string): never {
  const words = `it uses ${name}, which is not allowed`
  throw name.endsWith('sha1') ? new RejectedMessage('signature_weak', words) : new Error(words)
}

function requireMaxOccurrences(elements: readonly XmlElement[]): void {
  const occurrences = new Map<string, number>()
  for (const { localName } of elements) {
    const count = (occurrences.get(localName) ?? 0) + 1
    occurrences.set(localName, count)
    if (Object.hasOwn(MAX_OCCURRENCES, localName) && count > MAX_OCCURRENCES[localName]!)
      throw new Error(`it holds more than ${MAX_OCCURRENCES[localName]} of ${localName}`)
  }
}
