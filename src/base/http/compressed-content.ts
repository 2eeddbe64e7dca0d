import { promisify } from 'node:util'
import { brotliCompress, gzip, constants as zlib } from 'node:zlib'
import { negotiateCoding } from './accepted-coding.ts'

/** The preferred one first. */
const CODINGS = ['br', 'gzip'] as const
type Coding = (typeof CODINGS)[number]

const compress: Readonly<Record<Coding, (content: Buffer) => Promise<Buffer>>> = {
  // The highest quality takes seconds for the largest page, for a few per cent.
  br: (content) => promisify(brotliCompress)(content, { params: { [zlib.BROTLI_PARAM_QUALITY]: 9 } }),
  gzip: (content) => promisify(gzip)(content, { level: 9 }),
}

const COMPRESSIBLE = /^text\/|^image\/svg|json|javascript|xml/
/** Below it, a coding hardly saves a packet. */
const MIN_COMPRESSED_BYTES = 1024
/** More than there are pages and assets. */
const MAX_COMPRESSED = 1000

/** Pages and assets in each coding that was asked for: each is compressed once. */
const compressed = new Map<string, Promise<Buffer>>()

function compressOnce(key: string, coding: Coding, content: Buffer): Promise<Buffer> {
  const known = compressed.get(key)
  if (known !== undefined) return known
  const result = compress[coding](content)
  compressed.set(key, result)
  result.catch(() => compressed.delete(key))
  const [oldest] = compressed.keys()
  if (compressed.size > MAX_COMPRESSED) compressed.delete(oldest!)
  return result
}

/** A page or asset as a response sends it, in the coding that the client prefers. */
export interface EncodedContent {
  readonly body: Buffer
  readonly headers: Readonly<Record<string, string>>
}

/** Encodes a page or asset for an Accept-Encoding field; `key` names the content. */
export async function encodeContent(
  key: string,
  content: Buffer,
  type: string,
  accept = '',
): Promise<EncodedContent> {
  if (!COMPRESSIBLE.test(type) || content.length < MIN_COMPRESSED_BYTES) return { body: content, headers: {} }
  const vary = { vary: 'accept-encoding' }
  const coding = negotiateCoding(accept, CODINGS)
  if (coding === undefined) return { body: content, headers: vary }
  const body = await compressOnce(`${coding} ${key}`, coding, content)
  return { body, headers: { ...vary, 'content-encoding': coding } }
}
