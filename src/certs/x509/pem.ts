import { type MaterialField, problem } from '../problem.ts'

/** One block of a PEM text, decoded. */
export interface PemBlock {
  type: string
  /** The headers of the legacy format, one line each; empty in the current format. */
  headers: string[]
  der: Buffer
}

const BEGIN = /^-----BEGIN ([A-Z0-9](?:[A-Z0-9 ]*[A-Z0-9])?)-----$/
const HEADER = /^[A-Za-z][A-Za-z0-9-]*:/
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/

/** The names of the fields in problem messages. */
export const FIELD_NAMES = {
  ca_pem: 'certificate authority',
  certificate_pem: 'certificate',
  private_key_pem: 'private key',
  'binding.csr': 'certificate request',
} as const

/** The fields that hold PEM. */
export type PemField = keyof typeof FIELD_NAMES & MaterialField

/**
 * Parses the blocks of a PEM text. Text around the blocks is allowed and dropped (RFC 7468 section 2: tools print a
 * description above the certificate); a block itself must be well-formed.
 */
export function readPem(text: string, field: PemField, limit: number): PemBlock[] {
  const what = FIELD_NAMES[field]
  if (text.trim() === '') throw problem(field, 'empty', what)
  if (Buffer.byteLength(text) > limit) throw problem(field, 'too_big', what, `${limit / 1024} KiB`)

  const blocks: PemBlock[] = []
  const lines = text.split(/\r\n|\n|\r/).map((line) => line.trim())
  for (let index = 0; index < lines.length; index++) {
    const type = BEGIN.exec(lines[index]!)?.[1]
    if (type === undefined) {
      if (lines[index]!.startsWith('-----')) throw problem(field, 'not_pem', what)
      continue
    }
    const end = lines.indexOf(`-----END ${type}-----`, index)
    if (end < 0) throw problem(field, 'not_pem', what)
    blocks.push(readBlock(type, lines.slice(index + 1, end), field))
    index = end
  }
  if (blocks.length === 0) throw problem(field, 'not_pem', what)
  return blocks
}

function readBlock(type: string, lines: string[], field: PemField): PemBlock {
  const headers: string[] = []
  let body = lines
  if (HEADER.test(lines[0] ?? '')) {
    const blank = lines.indexOf('')
    headers.push(...lines.slice(0, blank < 0 ? lines.length : blank))
    body = blank < 0 ? [] : lines.slice(blank + 1)
  }
  const base64 = body.join('')
  // Buffer ignores invalid base64, so a damaged text would otherwise pass as a shorter one.
  const der = Buffer.from(base64, 'base64')
  const damaged = !BASE64.test(base64) || der.toString('base64') !== base64
  if (damaged && headers.length === 0) throw problem(field, 'not_pem', FIELD_NAMES[field])
  return { type, headers, der }
}

/** Formats a block with 64 columns and a final newline. */
export function writePem(type: string, der: Uint8Array): string {
  const lines =
    Buffer.from(der)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN ${type}-----\n${lines.join('\n')}\n-----END ${type}-----\n`
}
