/**
 * Finds U+0000 in parsed JSON: the dotted path of the string, or of the object whose key contains it; empty for the
 * value itself, undefined when there is none. PostgreSQL cannot store it, and other programs end strings at it.
 */
export function pathOfNul(value: unknown, path = ''): string | undefined {
  if (typeof value === 'string') return value.includes('\0') ? path : undefined
  if (typeof value !== 'object' || value === null) return undefined
  for (const [key, inner] of Object.entries(value)) {
    if (key.includes('\0')) return path
    const name = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`
    const match = pathOfNul(inner, name)
    if (match !== undefined) return match
  }
  return undefined
}
