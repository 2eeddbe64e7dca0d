import type { CaptureView } from '../../../agent/local-api/page-data.ts'
import { getDecodedBody } from '../api.ts'
import { decode } from './decode.ts'

/** A parsed captured message. */
export interface Message {
  firstLine: string
  /** As on the wire, with order, case and duplicates. */
  headers: [name: string, value: string][]
  /** The message as captured. */
  raw: Uint8Array
  /** The body without chunked framing, still compressed. */
  plainBody: Uint8Array
  /** The body decoded as far as possible. */
  body: Uint8Array
  /** Notes on truncation, redaction and decoding. */
  notes: string[]
  contentType: string
}

/** Parses both messages of an exchange and decodes their bodies. */
export async function parseMessages(
  capture: CaptureView,
): Promise<{ request: Message; response: Message | undefined }> {
  const request = await parseMessage(capture, 'request')
  return { request, response: capture.response ? await parseMessage(capture, 'response') : undefined }
}

async function parseMessage(capture: CaptureView, side: 'request' | 'response'): Promise<Message> {
  const captured = capture[side]!
  const raw = fromBase64(captured.raw ?? '')
  const end = findHeadEnd(raw)
  const [firstLine = '', ...lines] = latin1(raw.subarray(0, end)).trimEnd().split('\r\n')
  const headers = lines.map(parseHeader)
  const notes: string[] = []
  if (captured.truncated) {
    notes.push(
      `Truncated: ${raw.length - end} of ${captured.body_size} or more bytes of the body were captured.`,
    )
  }
  if (captured.redacted) notes.push('Some header values were redacted.')
  let body: Uint8Array = raw.subarray(end)
  if (/\bchunked\b/i.test(headerValue(headers, 'transfer-encoding'))) body = removeChunks(body)
  const decoded = await decode(body, headerValue(headers, 'content-encoding'), async () => {
    const { base64, ...rest } = await getDecodedBody(capture.id, side)
    return { ...rest, body: fromBase64(base64) }
  })
  notes.push(...decoded.notes)
  return {
    firstLine,
    headers,
    raw,
    plainBody: body,
    body: decoded.body,
    notes,
    contentType: headerValue(headers, 'content-type'),
  }
}

/** The first value of a header, or an empty string. */
export function headerValue(headers: readonly [string, string][], name: string): string {
  return headers.find(([each]) => each.toLowerCase() === name)?.[1] ?? ''
}

/** Decodes bytes as text, one character per byte. */
export function latin1(bytes: Uint8Array): string {
  // Not TextDecoder('latin1'): on the web that name means windows-1252.
  let text = ''
  for (let offset = 0; offset < bytes.length; offset += 8192)
    text += String.fromCharCode(...bytes.subarray(offset, offset + 8192))
  return text
}

/** Decodes UTF-8 without control characters; undefined for other data. The last character may be incomplete. */
export function decodeText(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return /[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** Decodes base64. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text)
  const bytes = new Uint8Array(binary.length)
  for (let index = 0; index < binary.length; index++) bytes[index] = binary.charCodeAt(index)
  return bytes
}

/** Encodes base64. */
export function toBase64(bytes: Uint8Array): string {
  return btoa(latin1(bytes))
}

function findHeadEnd(raw: Uint8Array): number {
  for (let offset = 0; offset + 3 < raw.length; offset++) {
    if (raw[offset] === 13 && raw[offset + 1] === 10 && raw[offset + 2] === 13 && raw[offset + 3] === 10)
      return offset + 4
  }
  return raw.length
}

function parseHeader(line: string): [string, string] {
  const colon = line.indexOf(':')
  return colon < 0 ? [line, ''] : [line.slice(0, colon), line.slice(colon + 1).trim()]
}

/** Removes the chunked framing; stops at a truncated or malformed chunk. */
function removeChunks(body: Uint8Array): Uint8Array {
  const result = new Uint8Array(body.length)
  let length = 0
  for (let offset = 0; offset < body.length; ) {
    const newline = body.indexOf(10, offset)
    if (newline < 0) break
    const size = Number.parseInt(latin1(body.subarray(offset, newline)), 16)
    if (!(size > 0)) break
    const chunk = body.subarray(newline + 1, newline + 1 + size)
    result.set(chunk, length)
    length += chunk.length
    offset = newline + 1 + size + 2
  }
  return result.subarray(0, length)
}
