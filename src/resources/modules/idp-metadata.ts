const METADATA = 'urn:oasis:names:tc:SAML:2.0:metadata'

const TOKEN =
  /[^<]+|<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<\/(?<closed>[^\s<>/]+)\s*>|<(?<opened>[^\s<>/!?'"=]+)(?<attributes>(?:\s+[^\s<>/'"=]+\s*=\s*(?:"[^"<]*"|'[^'<]*'))*)\s*(?<empty>\/?)>/gsy
const LOOSE_AMPERSAND = /&(?!(?:lt|gt|amp|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});)/i

const MALFORMED = 'it is not well-formed XML.'

interface Element {
  readonly name: string
  /** As written. */
  readonly attributes: string
}

/**
 * Reads XML far enough to know that it is well-formed, and answers with its root. It goes through the text once, which
 * parsers that build a document do not when the text is made to keep them busy (P46).
 */
function rootOf(xml: string): Element {
  if (/<!DOCTYPE|<!ENTITY/i.test(xml)) throw new Error('it has a document type, which is not allowed.')
  if (LOOSE_AMPERSAND.test(xml)) throw new Error('it uses an entity that nobody has declared.')
  const open: string[] = []
  let root: Element | undefined
  let read = 0
  for (const { 0: token, groups = {} } of xml.matchAll(TOKEN)) {
    read += token.length
    const { opened, attributes = '', empty, closed } = groups
    if (opened !== undefined) {
      if (open.length === 0 && root !== undefined) throw new Error('it has several roots.')
      root ??= { name: opened, attributes }
      if (empty === '') open.push(opened)
    } else if (closed !== undefined) {
      if (open.pop() !== closed) throw new Error(MALFORMED)
    } else if (open.length === 0 && !token.startsWith('<') && token.trim() !== '') throw new Error(MALFORMED)
  }
  if (root === undefined || open.length > 0 || read < xml.length) throw new Error(MALFORMED)
  return root
}

/** The namespace of an element, as far as it declares it itself. */
function namespaceOf({ name, attributes }: Element): string | undefined {
  const prefix = name.includes(':') ? `:${name.slice(0, name.indexOf(':'))}` : ''
  return new RegExp(`\\sxmlns${RegExp.escape(prefix)}\\s*=\\s*["']([^"']*)`).exec(attributes)?.[1]
}

/**
 * Says what is wrong with the description of an identity provider. Only what could never be one is refused: whether it
 * holds all that a sign-in needs shows where it is used.
 */
export function complaintAboutMetadata(xml: string): string | undefined {
  try {
    const root = rootOf(xml)
    const known = /^(?:[^:]+:)?Entit(?:y|ies)Descriptor$/.test(root.name)
    return known && (namespaceOf(root) ?? METADATA) === METADATA
      ? undefined
      : `cannot be used: its root is ${root.name}, not the EntityDescriptor of an identity provider.`
  } catch (error) {
    return `cannot be used: ${(error as Error).message}`
  }
}
