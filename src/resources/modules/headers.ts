import { Type } from 'typebox'
import { trimOws } from '../../base/http/optional-white-space.ts'
import { HEADER_NAME, headerName, headerValue } from '../schema/formats.ts'
import { defineModule } from '../schema/module.ts'
import { defineEndpointOption, dropEmptyLists, optionalTexts } from '../schema/option.ts'
import { described, documentedAs, InvalidValue, list, map, text } from '../schema/value.ts'

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
  documentedAs({ ...text(255), check: headerName }, { pattern: HEADER_NAME.source }),
  {
    maxItems: 100,
  },
)

const fields = {
  add: described(
    documentedAs(map(headerValue, { maxItems: 100, name: parseAddedName }), {
      propertyNames: { pattern: HEADER_NAME.source },
    }),
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the text shows how a variable is written.
    'The headers to add, by name. Values can contain variables, such as ${conn.client_ip}.',
    { 'x-frame-options': 'DENY' },
  ),
  remove: described(removedNames, 'The names of headers to remove, before others are added.', ['server']),
}

const FIELD_NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/i

/** Agents may add one name several times, so the edge builds the option from pairs instead of the module's settings. */
function headerOption<
  const N extends string,
  const W extends string,
  const M extends 'request' | 'response',
>({ name, field, message }: { name: N; field: W; message: M }) {
  const key = `${message}_header` as const
  return defineEndpointOption({
    name,
    field,
    key,
    wire: Type.Object({ add: optionalTexts, remove: optionalTexts }),
    flags: [
      { name: `${message}-header-add`, field: 'add', help: `add "name: value" to ${message}s` },
      { name: `${message}-header-remove`, field: 'remove', help: `remove a header from ${message}s` },
    ],
    check({ add = [], remove = [] }) {
      for (const line of add) {
        const header = trimOws(line.slice(0, Math.max(line.indexOf(':'), 0)))
        if (!FIELD_NAME.test(header) || /[\r\n\0]/.test(line))
          return `"${line.slice(0, 60)}" in "${key}.add" must be name:value`
      }
      const invalid = remove.find((header) => !FIELD_NAME.test(header))
      return invalid === undefined
        ? undefined
        : `"${invalid.slice(0, 60)}" in "${key}.remove" is not a header name`
    },
    encode: dropEmptyLists,
    decode: ({ add = [], remove = [] }): HeaderEdits => ({
      add: add.map((line) => {
        const colon = line.indexOf(':')
        if (colon < 1)
          throw new InvalidValue(undefined, `${field}: "${line.slice(0, 80)}" is not of the form name:value.`)
        return [trimOws(line.slice(0, colon)).toLowerCase(), trimOws(line.slice(colon + 1))]
      }),
      remove: remove.map((header) => trimOws(header).toLowerCase()),
    }),
  })
}

export interface HeaderEdits {
  readonly add: readonly (readonly [name: string, value: string])[]
  readonly remove: readonly string[]
}

/** Adds and removes headers of the request on its way to the upstream. */
export const RequestHeaders = defineModule('request_headers', 'Adds and removes request headers.', fields, {
  endpoint: headerOption({ name: 'requestHeaders', field: 'RequestHeaders', message: 'request' }),
  rule: ({ add, remove }) =>
    remove.includes('host') && !Object.hasOwn(add, 'host')
      ? {
          field: `remove[${remove.indexOf('host')}]`,
          message: 'host cannot be removed without adding another value for it.',
        }
      : undefined,
})

/** Adds and removes headers of the response on its way to the client. */
export const ResponseHeaders = defineModule(
  'response_headers',
  'Adds and removes response headers.',
  fields,
  {
    endpoint: headerOption({ name: 'responseHeaders', field: 'ResponseHeaders', message: 'response' }),
  },
)
