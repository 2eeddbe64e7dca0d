import { errorMessage } from '../../base/text/error-message.ts'
import { scanXml, type XmlElement, type XmlLimits } from '../../base/text/xml-scan.ts'

const METADATA = 'urn:oasis:names:tc:SAML:2.0:metadata'

/** Limits for the metadata of an identity provider. */
export const METADATA_LIMITS: XmlLimits = {
  maxBytes: 262_144,
  maxDepth: 32,
  maxElements: 3000,
  maxAttributes: 5000,
  maxAttributesPerElement: 64,
  maxSections: 1000,
}

/** The namespace of an element, if the element declares it. */
function declaredNamespace({ name, attributes }: XmlElement): string | undefined {
  const colon = name.indexOf(':')
  return attributes.get(colon === -1 ? 'xmlns' : `xmlns:${name.slice(0, colon)}`)
}

/** Whether an identity provider wants signed requests (SAML metadata, section 2.4.3). */
export function wantsSignedRequests(xml: string): boolean {
  return scanXml(xml, METADATA_LIMITS).some(
    ({ localName, attributes }) =>
      localName === 'IDPSSODescriptor' &&
      ['true', '1'].includes(attributes.get('WantAuthnRequestsSigned') ?? ''),
  )
}

/**
 * Returns what is wrong with the metadata of an identity provider. It rejects only what cannot be metadata at all; whether
 * everything a sign-in needs is present is checked on use. It scans the text once and builds no document, because it runs
 * on the event loop.
 */
export function metadataError(xml: string): string | undefined {
  try {
    const root = scanXml(xml, METADATA_LIMITS)[0]!
    const isDescriptor = root.localName === 'EntityDescriptor' || root.localName === 'EntitiesDescriptor'
    return isDescriptor && (declaredNamespace(root) ?? METADATA) === METADATA
      ? undefined
      : `cannot be used: its root is ${root.name}, not the EntityDescriptor of an identity provider.`
  } catch (error) {
    return `cannot be used: ${errorMessage(error)}.`
  }
}
