import { CONNECTION_FIELDS } from '../../base/http/connection-fields.ts'
import { isFieldValue, isToken } from './ascii.ts'

/** Text as a field carries it: fields carry bytes, so text beyond ASCII is sent as UTF-8. */
export function toFieldValue(text: string): string {
  return Buffer.from(text).toString('latin1')
}

/** The text that a field value carries: UTF-8, or Latin-1 when it is none. */
export function fromFieldValue(value: string): string {
  if (/^[\x00-\x7f]*$/.test(value)) return value
  const text = Buffer.from(value, 'latin1').toString()
  return text.includes('\ufffd') ? value : text
}

/** The line of a field of a response of ours; undefined when it cannot be sent. */
export function fieldLine(name: string, value: string): string | undefined {
  const bytes = toFieldValue(value)
  const sendable = isToken(name) && isFieldValue(bytes) && !CONNECTION_FIELDS.has(name.toLowerCase())
  return sendable ? `${name}: ${bytes}\r\n` : undefined
}
