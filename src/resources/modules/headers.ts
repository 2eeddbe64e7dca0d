import { headerName, headerValue } from '../formats.ts'
import { defineModule } from '../module.ts'
import { InvalidValue, list, map, text } from '../value.ts'

/** Hop-by-hop and framing fields: the edge writes them itself. */
const FRAMING =
  /^(?:connection|content-length|expect|keep-alive|te|trailer|transfer-encoding|upgrade|proxy-.*)$/

function parseAddedName(name: string, path: string): string {
  const lower = headerName(name, path)
  if (FRAMING.test(lower))
    throw new InvalidValue(path, `${path}: ${lower} cannot be added, since it belongs to the connection.`)
  return lower
}

const removedNames = list(
  { ...text(255), check: (name: string, path: string) => headerName(name, path) },
  { maxItems: 100 },
)

const fields = { add: map(headerValue, { maxItems: 100, name: parseAddedName }), remove: removedNames }

/** Adds and removes headers of the request on its way to the upstream. */
export const RequestHeaders = defineModule('request_headers', fields, {
  rule: ({ add, remove }) =>
    remove.includes('host') && !Object.hasOwn(add, 'host')
      ? {
          field: `remove[${remove.indexOf('host')}]`,
          message: 'host cannot be removed without adding another value for it.',
        }
      : undefined,
})

/** Adds and removes headers of the response on its way to the client. */
export const ResponseHeaders = defineModule('response_headers', fields)
