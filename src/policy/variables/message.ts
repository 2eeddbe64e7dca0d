import type { MapKey, MapValue, Meter, Value } from '../../cel/index.ts'
import { chargeLength, mapOf, objectOf, STRING, type Type } from '../../cel/index.ts'
import type { MessageSource } from '../activation.ts'
import { field } from './shape.ts'

/** Reading a parameter or a coding takes about this many steps. */
const PART_COST = 10

const readContentType = (message: MessageSource) => message.header('content-type')[0]
const rawContentType = (message: MessageSource) => message.once(readContentType) ?? ''

/** A message that has a media type. */
export const contentTypeOf = (message: MessageSource): MessageSource | undefined =>
  message.once(readContentType) === undefined ? undefined : message

/** The media type of a message: a text without parameters, with them as fields. */
export const contentType: Type = objectOf({
  name: 'content_type',
  text: (message: MessageSource) => message.once(readMediaType),
  fields: {
    raw: field(STRING, rawContentType),
    parameters: field(mapOf(STRING, STRING), (message: MessageSource) => message.once(readParameters)),
  },
})

const readMediaType = (message: MessageSource) =>
  rawContentType(message).split(';', 1)[0]!.trim().toLowerCase()

function readParameters(message: MessageSource, meter: Meter): MapValue {
  const parameters = new Map<MapKey, Value>()
  for (const part of split(rawContentType(message), ';', meter).slice(1)) {
    const equals = part.indexOf('=')
    if (equals === -1) continue
    const value = part.slice(equals + 1).trim()
    const unquoted = value.startsWith('"') && value.endsWith('"') ? value.slice(1, -1) : value
    parameters.set(part.slice(0, equals).trim().toLowerCase(), unquoted)
  }
  return parameters
}

/** The parts of a field value. */
export function split(value: string, separator: string, meter: Meter): string[] {
  chargeLength(meter, value.length)
  const parts = value.split(separator)
  meter.charge(PART_COST * parts.length)
  return parts
}

/** The codings of a message, in order. */
export function readEncodings(message: MessageSource, meter: Meter): string[] {
  return message.header('content-encoding').flatMap((value) =>
    split(value, ',', meter)
      .map((coding) => coding.trim().toLowerCase())
      .filter((coding) => coding !== ''),
  )
}

export const readLocation = (message: MessageSource): string | undefined => message.header('location')[0]
