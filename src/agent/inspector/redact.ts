import { trimOws } from '../../base/optional-white-space.ts'
import { MessageCopy } from './message-copy.ts'

/** Copies a head with the values of the named fields (lower case) replaced, so that secrets are never stored. */
export function redactHead(head: Buffer, names: ReadonlySet<string>): MessageCopy {
  if (names.size === 0) return new MessageCopy(head, true)
  let redacted = false
  const lines = head.toString('latin1').split('\r\n')
  for (let index = 1; index < lines.length; index++) {
    const colon = lines[index]!.indexOf(':')
    if (colon > 0 && names.has(trimOws(lines[index]!.slice(0, colon)).toLowerCase())) {
      redacted = true
      lines[index] = `${lines[index]!.slice(0, colon)}: [redacted]`
    }
  }
  return redacted
    ? new MessageCopy(Buffer.from(lines.join('\r\n'), 'latin1'), false)
    : new MessageCopy(head, true)
}
