import { trimOws } from '../../base/http/optional-white-space.ts'

/** The head with the values of the named fields (lower case) replaced; the same buffer if it has none of them. */
export function redact(head: Buffer, names: ReadonlySet<string>): Buffer {
  if (names.size === 0) return head
  let redacted = false
  const lines = head.toString('latin1').split('\r\n')
  for (let index = 1; index < lines.length; index++) {
    const colon = lines[index]!.indexOf(':')
    if (colon > 0 && names.has(trimOws(lines[index]!.slice(0, colon)).toLowerCase())) {
      redacted = true
      lines[index] = `${lines[index]!.slice(0, colon)}: [redacted]`
    }
  }
  return redacted ? Buffer.from(lines.join('\r\n'), 'latin1') : head
}
