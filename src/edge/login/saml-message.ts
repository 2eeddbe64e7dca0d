import { declaredEncoding, scanXml, type XmlElement, type XmlLimits } from '../../base/xml-scan.ts'

const DSIG = 'http://www.w3.org/2000/09/xmldsig#'
const DSIG_MORE = 'http://www.w3.org/2001/04/xmldsig-more#'
const XMLENC = 'http://www.w3.org/2001/04/xmlenc#'
const SUCCESS_STATUS = 'urn:oasis:names:tc:SAML:2.0:status:Success'

/** Every algorithm a message may name: strong signatures, and transforms that leave all of the content in place. */
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
 * What the library checks costs it the square of the number of siblings, once for each signature and certificate: the
 * limits leave room for about 900 groups. Comments and CDATA are out: a signature does not cover the first, and where
 * text is cut by one, readers differ about what it says.
 */
export const MESSAGE_LIMITS: XmlLimits = {
  maxBytes: 128 * 1024,
  maxDepth: 32,
  maxElements: 1000,
  maxAttributes: 3000,
  maxAttributesPerElement: 32,
  maxSections: 0,
}

/** Each prefix is looked for on each element. */
const MAX_PREFIX_LIST_LENGTH = 1024

/** How often an element may occur in a message: what was signed could be hidden beside what is read. */
const MAX_OCCURRENCES: Readonly<Record<string, number>> = {
  Response: 1,
  Assertion: 1,
  EncryptedAssertion: 0,
  LogoutRequest: 1,
  // One around the answer and one inside; of a signature that is taken, each part occurs once.
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
  // It would be canonicalized with the rest, and holds nothing that is read.
  Object: 0,
  Manifest: 0,
}

/** A message that was read far enough to be given to the library. */
export interface SamlMessage {
  readonly xml: string
  readonly root: XmlElement
  readonly elements: readonly XmlElement[]
}

/** A message as it travels in a form. */
export function parsePostedMessage(encoded: string): SamlMessage {
  const bytes = Buffer.from(encoded, 'base64')
  try {
    return parseMessage(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
  } catch (error) {
    throw error instanceof TypeError ? new Error('it is not in UTF-8') : error
  }
}

/** Reads XML in which what is read can only be what was signed; throws a reason. */
export function parseMessage(xml: string): SamlMessage {
  const elements = scanXml(xml, MESSAGE_LIMITS)
  if ((declaredEncoding(xml) ?? 'utf-8') !== 'utf-8') throw new Error('it is not in UTF-8')
  requireMaxOccurrences(elements)
  const ids = new Set<string>()
  for (const { attributes } of elements)
    for (const [name, value] of attributes) {
      const localName = name.slice(name.indexOf(':') + 1)
      if (localName.toLowerCase() === 'id') {
        // A reference to a character would make two ids that read alike look different.
        if (ids.has(value) || value.includes('&')) throw new Error('it holds an id twice')
        ids.add(value)
      } else if (localName === 'Algorithm' && !ALLOWED_ALGORITHMS.has(value))
        throw new Error(`it uses ${value}, which is not allowed`)
      else if (localName === 'PrefixList' && value.length > MAX_PREFIX_LIST_LENGTH)
        throw new Error('it names too many prefixes')
    }
  return { xml, root: elements[0]!, elements }
}

/** Throws unless the root is of this name and meant for this address, if it names one. */
export function requireRoot({ root }: SamlMessage, localName: string, address: string): void {
  if (root.localName !== localName) throw new Error(`it is no ${localName}`)
  const destination = root.attributes.get('Destination')
  if (destination !== undefined && destination !== address)
    throw new Error('it is meant for another receiver')
}

/** SAML core, 3.2.2.2: only an answer that says Success asserts anything. The library looks at it in no other. */
export function requireSuccess({ root, elements }: SamlMessage): void {
  const statuses = elements.filter(({ parent, localName }) => parent === root && localName === 'Status')
  const codes = elements.filter(
    ({ parent, localName }) => parent === statuses[0] && localName === 'StatusCode',
  )
  if (statuses.length !== 1 || codes.length !== 1 || codes[0]!.attributes.get('Value') !== SUCCESS_STATUS)
    throw new Error('it does not say that the sign-in succeeded')
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
