import { requirePlainXml } from './xml-limits.ts'

const DSIG = 'http://www.w3.org/2000/09/xmldsig#'
const MORE = 'http://www.w3.org/2001/04/xmldsig-more#'
const ENC = 'http://www.w3.org/2001/04/xmlenc#'

/** Every algorithm a message may name: strong signatures, and transforms that leave all of the content in place. */
const ALGORITHMS = new Set([
  `${MORE}rsa-sha256`,
  `${MORE}rsa-sha384`,
  `${MORE}rsa-sha512`,
  `${ENC}sha256`,
  `${MORE}sha384`,
  `${ENC}sha512`,
  `${DSIG}enveloped-signature`,
  'http://www.w3.org/2001/10/xml-exc-c14n#',
  'http://www.w3.org/2001/10/xml-exc-c14n#WithComments',
  'http://www.w3.org/TR/2001/REC-xml-c14n-20010315',
  'http://www.w3.org/TR/2001/REC-xml-c14n-20010315#WithComments',
])

/** A message as it travels in a form: XML in which what is read can only be what was signed. */
export function readPostedMessage(encoded: string): string {
  const bytes = Buffer.from(encoded, 'base64')
  let xml: string
  try {
    xml = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    throw new Error('it is not in UTF-8')
  }
  requireExactXml(xml)
  return xml
}

function requireExactXml(xml: string): void {
  const attributes = requirePlainXml(xml)
  const declared = /^\s*<\?xml\s[^?]*?encoding\s*=\s*["']([^"']*)/.exec(xml)?.[1]
  if (declared !== undefined && declared.toLowerCase() !== 'utf-8') throw new Error('it is not in UTF-8')
  // The signature does not cover comments, and where text is cut by one, readers differ about what it says.
  if (/<!--|<!\[CDATA\[/.test(xml)) throw new Error('it holds a comment or raw text')
  if (/<\?(?!xml\s)/.test(xml)) throw new Error('it holds an instruction for programs')
  // One that was signed could be hidden beside one that is read.
  for (const name of ['Response', 'Assertion', 'LogoutRequest'])
    if ([...xml.matchAll(new RegExp(`<(?:[^\\s<>/:]+:)?${name}[\\s/>]`, 'g'))].length > 1)
      throw new Error(`it holds more than one ${name}`)
  const ids = attributes.filter(({ name }) => /^(.*:)?id$/i.test(name)).map(({ value }) => value)
  if (new Set(ids).size < ids.length) throw new Error('it holds an id twice')
  for (const { name, value } of attributes)
    if (/^(.*:)?Algorithm$/.test(name) && !ALGORITHMS.has(value))
      throw new Error(`it uses ${value}, which is not allowed`)
}
