const LARGEST = 256 * 1024
const DEEPEST = 32
const MOST_NODES = 5000

/** An attribute as it is written, inside its quotes. */
export interface WrittenAttribute {
  readonly name: string
  readonly value: string
}

/**
 * Refuses XML that could make a parser do more than read, or work for long, before one sees it (P46). Answers with the
 * attributes of all elements, as written.
 */
export function requirePlainXml(xml: string): WrittenAttribute[] {
  if (Buffer.byteLength(xml) > LARGEST) throw new Error(`the XML is larger than ${LARGEST} bytes`)
  if (/<!DOCTYPE|<!ENTITY|<\?xml-stylesheet/i.test(xml))
    throw new Error('the XML has a document type, which is not allowed')
  if (/&(?!(?:lt|gt|amp|quot|apos|#\d{1,7}|#x[0-9a-f]{1,6});)/i.test(xml))
    throw new Error('the XML uses an entity that nobody has declared')
  const attributes: WrittenAttribute[] = []
  let depth = 0
  let nodes = 0
  let roots = 0
  for (let at = xml.indexOf('<'); at !== -1; at = xml.indexOf('<', at)) {
    if (xml[at + 1] === '/') {
      at = readClosing(xml, at)
      depth--
      continue
    }
    const around = AROUND.find(([begin]) => xml.startsWith(begin, at))
    if (around !== undefined) {
      at = endOf(xml, around[1], at)
      requireFew(++nodes + attributes.length)
      continue
    }
    if (depth === 0 && ++roots > 1) throw new Error('the XML has several roots')
    const end = readElement(xml, at + 1, attributes)
    requireFew(++nodes + attributes.length)
    if (xml[end - 2] !== '/') depth++
    if (depth > DEEPEST) throw new Error(`the XML is nested more than ${DEEPEST} deep`)
    at = end
  }
  return attributes
}

/** What begins with `<` and is no element, with how it ends. */
const AROUND = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const

const NAME = /[^\s<>/]+/y
const ATTRIBUTE = /\s*([^\s=<>"'/]+)\s*=\s*("[^"]*"|'[^']*')/y

/** The place behind an element's `>`, which may also stand inside of quotes. */
function readElement(xml: string, from: number, attributes: WrittenAttribute[]): number {
  NAME.lastIndex = from
  let at = from + (NAME.exec(xml)?.[0].length ?? 0)
  for (;;) {
    ATTRIBUTE.lastIndex = at
    const [written, name, value] = ATTRIBUTE.exec(xml) ?? []
    if (written === undefined) break
    attributes.push({ name: name!, value: value!.slice(1, -1) })
    requireFew(attributes.length)
    at += written.length
  }
  const rest = /\s*\/?>/y
  rest.lastIndex = at
  const [end] = rest.exec(xml) ?? []
  if (end === undefined) throw new Error('the XML is not well-formed')
  return at + end.length
}

/** The place behind a closing tag. A parser that finds much else in one may look for its end again and again. */
function readClosing(xml: string, from: number): number {
  const closing = /<\/[^\s<>/]+\s*>/y
  closing.lastIndex = from
  const [written] = closing.exec(xml) ?? []
  if (written === undefined) throw new Error('the XML is not well-formed')
  return from + written.length
}

function requireFew(nodes: number): void {
  if (nodes > MOST_NODES) throw new Error(`the XML has more than ${MOST_NODES} elements and attributes`)
}

function endOf(xml: string, mark: string, from: number): number {
  const at = xml.indexOf(mark, from + 2)
  if (at === -1) throw new Error('the XML is not well-formed')
  return at + mark.length
}
