/** An element as written in the source: names include their prefix, attribute values are raw. */
export interface XmlElement {
  readonly name: string
  /** The name without its prefix. */
  readonly localName: string
  readonly attributes: ReadonlyMap<string, string>
  /** Undefined for the root. */
  readonly parent: XmlElement | undefined
}

/** Limits beyond which a document is rejected. */
export interface XmlLimits {
  readonly maxBytes: number
  readonly maxDepth: number
  readonly maxElements: number
  /** In the complete document. */
  readonly maxAttributes: number
  readonly maxAttributesPerElement: number
  /** Comments and CDATA sections; 0 where two parsers must not disagree about a text. */
  readonly maxSections: number
}

const MALFORMED = 'it is not well-formed XML'
// Sticky, so that each matches at one offset only: together they pass over any text once.
const NAME = /[^\s<>/!?'"=&]+/y
const ATTRIBUTE = /[ \t\r\n]+([^\s<>/'"=&]+)[ \t\r\n]*=[ \t\r\n]*("[^"<]*"|'[^'<]*')/y
const TAG_END = /[ \t\r\n]*(\/?)>/y
const REFERENCE = /&(?:lt|gt|amp|quot|apos|#[0-9]{1,7}|#x[0-9a-fA-F]{1,6});/y
const DECLARATION = /<\?xml[ \t\r\n][^?<>]*\?>/y
const ENCODING = /[ \t\r\n]encoding[ \t\r\n]*=[ \t\r\n]*["']([^"']*)/

/**
 * Scans XML once, in linear time, before a parser sees it (P46). Rejects document types, entities, processing
 * instructions and documents beyond the limits. Returns all elements in document order; throws the reason.
 */
export function scanXml(xml: string, limits: XmlLimits): readonly XmlElement[] {
  if (Buffer.byteLength(xml) > limits.maxBytes) throw new Error(`it is larger than ${limits.maxBytes} bytes`)
  const elements: XmlElement[] = []
  let attributeCount = 0
  let sectionCount = 0
  let depth = 0
  let current: XmlElement | undefined
  let offset = skipDeclaration(xml)
  while (offset < xml.length) {
    const tagStart = xml.indexOf('<', offset)
    const textEnd = tagStart === -1 ? xml.length : tagStart
    validateText(xml.slice(offset, textEnd), current !== undefined)
    offset = textEnd
    if (tagStart === -1) break
    if (xml[offset + 1] === '/') {
      offset = endOfClosingTag(xml, offset + 2, current)
      current = current!.parent
      depth--
    } else if (xml[offset + 1] === '!' || xml[offset + 1] === '?') {
      offset = endOfSection(xml, offset, current !== undefined)
      if (++sectionCount > limits.maxSections)
        throw new Error(
          limits.maxSections === 0
            ? 'it holds a comment or a CDATA section'
            : `it has more than ${limits.maxSections} comments and CDATA sections`,
        )
    } else {
      if (current === undefined && elements.length > 0) throw new Error('it has several roots')
      if (elements.length >= limits.maxElements)
        throw new Error(`it has more than ${limits.maxElements} elements`)
      const budget = Math.min(limits.maxAttributes - attributeCount, limits.maxAttributesPerElement)
      const tag = readTag(xml, offset + 1, current, budget)
      elements.push(tag.element)
      attributeCount += tag.element.attributes.size
      offset = tag.end
      if (depth >= limits.maxDepth) throw new Error(`it is nested more than ${limits.maxDepth} deep`)
      if (!tag.empty) {
        current = tag.element
        depth++
      }
    }
  }
  if (current !== undefined || elements.length === 0) throw new Error(MALFORMED)
  return elements
}

function skipDeclaration(xml: string): number {
  const start = xml.startsWith('\ufeff') ? 1 : 0
  return start + (matchAt(DECLARATION, xml, start)?.[0].length ?? 0)
}

/** The encoding named in the XML declaration, in lower case. */
export function readEncoding(xml: string): string | undefined {
  const declaration = matchAt(DECLARATION, xml, xml.startsWith('\ufeff') ? 1 : 0)?.[0] ?? ''
  return ENCODING.exec(declaration)?.[1]?.toLowerCase()
}

function validateText(text: string, inside: boolean): void {
  if (!inside && text.trim() !== '') throw new Error(MALFORMED)
  for (let offset = text.indexOf('&'); offset !== -1; offset = text.indexOf('&', offset + 1))
    if (matchAt(REFERENCE, text, offset) === undefined)
      throw new Error('it uses an entity that is not declared')
}

function readTag(
  xml: string,
  from: number,
  parent: XmlElement | undefined,
  maxAttributes: number,
): { element: XmlElement; end: number; empty: boolean } {
  const name = matchAt(NAME, xml, from)?.[0]
  if (name === undefined) throw new Error(MALFORMED)
  const attributes = new Map<string, string>()
  let offset = from + name.length
  for (;;) {
    const [attributeText, key, quoted] = matchAt(ATTRIBUTE, xml, offset) ?? []
    if (attributeText === undefined) break
    if (attributes.has(key!)) throw new Error(MALFORMED)
    if (attributes.size >= maxAttributes) throw new Error('it has too many attributes')
    const value = quoted!.slice(1, -1)
    validateText(value, true)
    attributes.set(key!, value)
    offset += attributeText.length
  }
  const [end, slash] = matchAt(TAG_END, xml, offset) ?? []
  if (end === undefined) throw new Error(MALFORMED)
  const localName = name.slice(name.indexOf(':') + 1)
  return {
    element: { name, localName, attributes, parent },
    end: offset + end.length,
    empty: slash === '/',
  }
}

function endOfClosingTag(xml: string, from: number, current: XmlElement | undefined): number {
  if (current === undefined || !xml.startsWith(current.name, from)) throw new Error(MALFORMED)
  const offset = from + current.name.length
  const [end, slash] = matchAt(TAG_END, xml, offset) ?? []
  if (end === undefined || slash === '/') throw new Error(MALFORMED)
  return offset + end.length
}

/** The offset after a comment or CDATA section. Rejects all other markup of that form. */
function endOfSection(xml: string, from: number, inside: boolean): number {
  const end = xml.startsWith('<!--', from)
    ? endOf(xml, '-->', from + 4)
    : inside && xml.startsWith('<![CDATA[', from)
      ? endOf(xml, ']]>', from + 9)
      : undefined
  if (end !== undefined) return end
  if (xml[from + 1] === '?') throw new Error('it holds a processing instruction')
  throw new Error('it has a document type, which is not allowed')
}

function endOf(xml: string, terminator: string, from: number): number {
  const offset = xml.indexOf(terminator, from)
  if (offset === -1) throw new Error(MALFORMED)
  return offset + terminator.length
}

function matchAt(pattern: RegExp, text: string, offset: number): RegExpExecArray | undefined {
  pattern.lastIndex = offset
  return pattern.exec(text) ?? undefined
}
