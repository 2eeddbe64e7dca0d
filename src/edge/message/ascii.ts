/** Builds a table of 256 bytes that is 1 for every accepted code. */
function buildTable(accepts: (code: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (accepts(code) ? 1 : 0))
}

const TOKEN_SYMBOLS = "!#$%&'*+-.^_`|~"

const isAlphanumeric = (code: number): boolean => /^[0-9A-Za-z]$/.test(String.fromCharCode(code))

/** RFC 9110 section 5.6.2: the characters of methods and field names. */
export const TOKEN_CHARS = buildTable(
  (code) => isAlphanumeric(code) || TOKEN_SYMBOLS.includes(String.fromCharCode(code)),
)

/** Token characters that some servers fold into a hyphen or underscore when they forward a name (P27). */
export const FOLDABLE_IN_NAME = buildTable(
  (code) => code !== 0x2d && TOKEN_SYMBOLS.includes(String.fromCharCode(code)) && TOKEN_CHARS[code] === 1,
)

/** The characters of a field value: tab, visible characters, space and bytes above 127. */
export const FIELD_VALUE_CHARS = buildTable(
  (code) => code === 9 || (code >= 0x20 && code <= 0x7e) || (code >= 0x80 && code <= 0xff),
)

/** The characters of a request target: no whitespace, no control characters and no fragment. */
export const TARGET_CHARS = buildTable(
  (code) => (code >= 0x21 && code <= 0x7e && code !== 0x23) || code >= 0x80,
)

/** True for one or more token characters. */
export function isToken(text: string): boolean {
  for (let index = 0; index < text.length; index++)
    if (TOKEN_CHARS[text.charCodeAt(index)] !== 1) return false
  return text !== ''
}

/** True when every character is valid in a field value. */
export function isFieldValue(text: string): boolean {
  for (let index = 0; index < text.length; index++)
    if (FIELD_VALUE_CHARS[text.charCodeAt(index)] !== 1) return false
  return true
}
