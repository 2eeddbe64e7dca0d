import { headerName, headerValue } from '../formats.ts'
import { defineModule } from '../module.ts'
import { InvalidValue, list, map, text } from '../value.ts'

/** Fields that frame a message or belong to one connection: the edge writes them itself. */
const FRAMING =
  /^(?:connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/

function addedName(name: string, at: string): string {
  const lower = headerName(name, at)
  if (FRAMING.test(lower))
    throw new InvalidValue(at, `${at}: ${lower} cannot be added, since it belongs to the connection.`)
  return lower
}

const removed = list(
  { ...text(255), check: (name: string, at: string) => headerName(name, at) },
  { maxItems: 100 },
)

const fields = { add: map(headerValue, { maxItems: 100, name: addedName }), remove: removed }

/** Adds and removes headers of the request on its way to the upstream. */
export const RequestHeaders = defineModule('request_headers', fields, {
  rule: ({ add, remove }) =>
    remove.includes('host') && !Object.hasOwn(add, 'host')
      ? {
          field: `remove[${remove.indexOf('host')}]`,
          sentence: 'host cannot be removed without adding another value for it.',
        }
      : undefined,
})

/** Adds and removes headers of the response on its way to the client. */
export const ResponseHeaders = defineModule('response_headers', fields)
