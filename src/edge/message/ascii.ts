/** A table of 256 bytes that is 1 where `accepts` says so. */
function buildTable(accepts: (code: number) => boolean): Uint8Array {
  return Uint8Array.from({ length: 256 }, (_, code) => (accepts(code) ? 1 : 0))
}

const TOKEN_SYMBOLS = "!#$%&'*+-.^_`|~"

const isAlphanumeric = (code: number): boolean => /^[0-9A-Za-z]$/.test(String.fromCharCode(code))

/** RFC 9110 section 5.6.2: what methods and field names are made of. */
export const TOKEN_CHARS = buildTable(
  (code) => isAlphanumeric(code) || TOKEN_SYMBOLS.includes(String.fromCharCode(code)),
)

/** Token characters that some servers fold into a hyphen or underscore when they pass a name on. */
export const FOLDABLE_IN_NAME = buildTable(
  (code) => code !== 0x2d && TOKEN_SYMBOLS.includes(String.fromCharCode(code)) && TOKEN_CHARS[code] === 1,
)

/** What a field value may hold: tab, visible characters, space and bytes above 127; no other control characters. */
export const FIELD_VALUE_CHARS = buildTable(
  (code) => code === 9 || (code >= 0x20 && code <= 0x7e) || (code >= 0x80 && code <= 0xff),
)

/** What a request target may hold: no blanks, no control characters and no fragment. */
export const TARGET_CHARS = buildTable(
  (code) => (code >= 0x21 && code <= 0x7e && code !== 0x23) || code >= 0x80,
)

/** The value of a hexadecimal digit, 255 for anything else. */
export const HEX_VALUES = Uint8Array.from({ length: 256 }, (_, code) => {
  const value = Number.parseInt(String.fromCharCode(code), 16)
  return Number.isNaN(value) ? 255 : value
})

/** True when every character is a token character and there is at least one. */
export function isToken(text: string): boolean {
  for (let index = 0; index < text.length; index++)
    if (TOKEN_CHARS[text.charCodeAt(index)] !== 1) return false
  return text !== ''
}

/** True when every character may stand in a field value. */
export function isFieldValue(text: string): boolean {
  for (let index = 0; index < text.length; index++)
    if (FIELD_VALUE_CHARS[text.charCodeAt(index)] !== 1) return false
  return true
}
