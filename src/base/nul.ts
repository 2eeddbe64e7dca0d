/**
 * Where U+0000 stands in parsed JSON: the dotted path of the text or of the object whose key holds it, empty for the
 * value itself, undefined when there is none. PostgreSQL cannot store it, and other programs end text at it.
 */
export function pathOfNul(value: unknown, at = ''): string | undefined {
  if (typeof value === 'string') return value.includes('\0') ? at : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    if (key.includes('\0')) return at
    const name = Array.isArray(value) ? `${at}[${key}]` : at === '' ? key : `${at}.${key}`
    const found = pathOfNul(inner, name)
    if (found !== undefined) return found
  }
  return undefined
}
