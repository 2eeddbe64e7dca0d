/** Characters that would be invisible or change the direction of the text around them. */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Co}]/u

/** A request path as people read it: percent-encoded UTF-8 is decoded where that shows exactly one text. */
export function decodePath(uri: string): string {
  return uri.replace(/(?:%[0-9a-f]{2})+/gi, (encoded) => {
    try {
      const text = decodeURIComponent(encoded)
      // An encoded delimiter is not a delimiter, and an encoded percent sign not the start of a sequence.
      return UNSAFE.test(text) || /[%/?#&=+\s]/.test(text) ? encoded : text
    } catch {
      return encoded
    }
  })
}
