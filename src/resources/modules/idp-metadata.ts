import { scanXml, type XmlElement, type XmlLimits } from '../../base/xml-scan.ts'

const METADATA = 'urn:oasis:names:tc:SAML:2.0:metadata'

/** How much of the description of an identity provider is read. */
export const METADATA_LIMITS: XmlLimits = {
  maxBytes: 262_144,
  maxDepth: 32,
  maxElements: 3000,
  maxAttributes: 5000,
  maxAttributesPerElement: 64,
  maxSections: 1000,
}

/** The namespace of an element, as far as it declares it itself. */
function declaredNamespace({ name, attributes }: XmlElement): string | undefined {
  const colon = name.indexOf(':')
  return attributes.get(colon === -1 ? 'xmlns' : `xmlns:${name.slice(0, colon)}`)
}

/**
 * Says what is wrong with the description of an identity provider. Only what could never be one is refused: whether it
 * holds all that a sign-in needs shows where it is used. It goes through the text once and builds no document, because
 * it does so on the event loop.
 */
export function metadataError(xml: string): string | undefined {
  try {
    const root = scanXml(xml, METADATA_LIMITS)[0]!
    const isDescriptor = root.localName === 'EntityDescriptor' || root.localName === 'EntitiesDescriptor'
    return isDescriptor && (declaredNamespace(root) ?? METADATA) === METADATA
      ? undefined
      : `cannot be used: its root is ${root.name}, not the EntityDescriptor of an identity provider.`
  } catch (error) {
    return `cannot be used: ${(error as Error).message}.`
  }
}
