import { DOMParser } from '@xmldom/xmldom'
import { scanXml, type XmlLimits } from '../../../base/text/xml-scan.ts'

/** What an identity provider's metadata describes. */
export interface IdentityProvider {
  readonly entityId: string
  /** The single sign-on URL with the HTTP-Redirect binding. */
  readonly ssoUrl: string
  readonly sloUrl: string | undefined
  /** Signing certificates, base64 without armour. */
  readonly certificates: readonly string[]
}

const METADATA = 'urn:oasis:names:tc:SAML:2.0:metadata'
const SIGNATURE = 'http://www.w3.org/2000/09/xmldsig#'
const REDIRECT = 'urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect'
const NO_REDIRECT =
  'the metadata names no SingleSignOnService with the HTTP-Redirect binding, by which sign-ins begin; HTTP-POST is not enough'
/** A message is verified against each of them until one matches. */
const MAX_CERTIFICATES = 8

/**
 * Throws a user-facing reason when metadata is unusable, as far as a scan shows. The document itself is parsed in a
 * worker thread, off the event loop.
 */
export function requireUsableMetadata(xml: string, limits: XmlLimits): void {
  const elements = scanXml(xml, limits)
  const hasElement = (localName: string, binding?: string) =>
    elements.some(
      (element) =>
        element.localName === localName &&
        (binding === undefined || element.attributes.get('Binding') === binding),
    )
  if (!hasElement('IDPSSODescriptor')) throw new Error('the metadata describes no identity provider')
  if (!hasElement('SingleSignOnService')) throw new Error('the metadata names no SingleSignOnService')
  if (!hasElement('SingleSignOnService', REDIRECT)) throw new Error(NO_REDIRECT)
  if (!hasElement('X509Certificate')) throw new Error('the metadata holds no signing certificate')
}

/** Parses an EntityDescriptor; throws a user-facing reason when it is unusable. */
export function parseIdpMetadata(xml: string, limits: XmlLimits): IdentityProvider {
  requireUsableMetadata(xml, limits)
  const problems: string[] = []
  const document = new DOMParser({
    errorHandler: {
      warning: () => {},
      error: (text: string) => problems.push(text),
      fatalError: (text: string) => problems.push(text),
    },
  }).parseFromString(xml, 'text/xml')
  if (document === undefined || problems.length > 0) throw new Error('the metadata is not well-formed XML')
  const entity = document.getElementsByTagNameNS(METADATA, 'EntityDescriptor')[0]
  const idp = entity?.getElementsByTagNameNS(METADATA, 'IDPSSODescriptor')[0]
  if (entity === undefined || idp === undefined)
    throw new Error('the metadata describes no identity provider')
  const findLocation = (name: string) =>
    Array.from(idp.getElementsByTagNameNS(METADATA, name))
      .find((element) => element.getAttribute('Binding') === REDIRECT)
      ?.getAttribute('Location') ?? undefined
  const ssoUrl = findLocation('SingleSignOnService')
  if (ssoUrl === undefined) throw new Error(NO_REDIRECT)
  const pems = Array.from(idp.getElementsByTagNameNS(METADATA, 'KeyDescriptor'))
    .filter((key) => key.getAttribute('use') !== 'encryption')
    .flatMap((key) => Array.from(key.getElementsByTagNameNS(SIGNATURE, 'X509Certificate')))
    .map((element) => (element.textContent ?? '').replace(/\s+/g, ''))
    .filter((certificate) => certificate !== '')
  const certificates = [...new Set(pems)]
  if (certificates.length === 0) throw new Error('the metadata holds no signing certificate')
  if (certificates.length > MAX_CERTIFICATES)
    throw new Error(`the metadata holds more than ${MAX_CERTIFICATES} signing certificates`)
  return {
    entityId: entity.getAttribute('entityID') ?? '',
    ssoUrl,
    sloUrl: findLocation('SingleLogoutService'),
    certificates,
  }
}
