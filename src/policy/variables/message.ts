import type { MessageSource } from '../activation.ts'
import { mapOf, objectOf, STRING, type Type } from '../cel/types.ts'
import type { MapKey, MapValue, Value } from '../cel/values.ts'
import { field } from './shape.ts'

/** A media type: a text without parameters, with them as fields. Its source is the header. */
export const contentType: Type = objectOf({
  name: 'content_type',
  text: (raw: string) => mediaType(raw),
  fields: {
    raw: field(STRING, (raw: string) => raw),
    parameters: field(mapOf(STRING, STRING), parseParameters),
  },
})

const mediaType = (raw: string) => raw.split(';', 1)[0]!.trim().toLowerCase()

function parseParameters(raw: string): MapValue {
  const parameters = new Map<MapKey, Value>()
  for (const part of raw.split(';').slice(1)) {
    const equals = part.indexOf('=')
    if (equals === -1) continue
    const value = part.slice(equals + 1).trim()
    const unquoted = value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
    parameters.set(part.slice(0, equals).trim().toLowerCase(), unquoted)
  }
  return parameters
}

/** The codings of a message, in order. */
export function encodings(message: MessageSource): string[] {
  return message.header('content-encoding').flatMap((value) =>
    value
      .split(',')
      .map((coding) => coding.trim().toLowerCase())
      .filter((coding) => coding !== ''),
  )
}
