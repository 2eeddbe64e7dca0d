/**
 * Where an HTTP/1 message and its parts end (RFC 9112), as every reader finds it. Two readers use it. The edge's
 * (`edge/message`) decides for the readers behind it and is strict wherever parsers are known to differ (P20, P24). The
 * agent's (`agent/http1.ts`) shows what the edge let pass and what local services send, and is lenient on purpose: it takes
 * a bare LF and white space after a chunk size, equal lengths twice, and codings before `chunked`.
 */

/** Max hexadecimal digits of a chunk size; leading zeros count. */
export const MAX_CHUNK_SIZE_DIGITS = 8

/** The value of a hexadecimal digit, 255 for anything else. */
export const HEX_VALUES = Uint8Array.from({ length: 256 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16)
  return Number.isNaN(value) ? 255 : value
})

const HEAD_END = Buffer.from('\r\n\r\n')

/**
 * The length of the head at the start of these bytes, the empty line included; -1 when it is not complete. The first
 * `searched` bytes were searched before, without finding the end.
 */
export function headLength(bytes: Buffer, searched: number): number {
  const end = bytes.indexOf(HEAD_END, searched > 3 ? searched - 3 : 0)
  return end === -1 ? -1 : end + 4
}

const CONTENT_LENGTH = /^[0-9]{1,15}$/

/** The value of a Content-Length field; NaN when it is not a number of at most 15 digits. */
export function parseContentLength(value: string): number {
  return CONTENT_LENGTH.test(value) ? Number(value) : Number.NaN
}

/** Whether a final response with this status has a body, which may be empty (RFC 9112 section 6.3). */
export function hasResponseBody(method: string, status: number): boolean {
  return method !== 'HEAD' && status !== 204 && status !== 304
}
