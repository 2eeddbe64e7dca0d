import { fieldDescription, fieldExample } from './field-descriptions.ts'

type Json = Record<string, unknown>

/** A copy of a schema whose fields have their description and example. `title` names the schema, `property` the field it is in. */
export function describeFields(schema: unknown, title: string, property?: string): unknown {
  if (Array.isArray(schema)) return schema.map((member) => describeFields(member, title, property))
  if (typeof schema !== 'object' || schema === null) return schema
  const { properties, ...rest } = schema as Json & { properties?: Record<string, Json> }
  const ownTitle = typeof rest.title === 'string' ? rest.title : title
  const described = Object.fromEntries(
    Object.entries(rest).map(([key, value]) => [
      key,
      NESTED.has(key) ? describeFields(value, ownTitle, property) : value,
    ]),
  )
  if (properties === undefined) return described
  // A field of a nested object without a title is named by the field that holds the object.
  const names = rest.title === undefined && property !== undefined ? [property, title] : [ownTitle]
  const fields = Object.entries(properties).map(([name, field]) => {
    const textName = ownTitle === 'list' && field.type === 'array' ? 'items' : name
    return [
      name,
      {
        ...(describeFields(field, ownTitle, name) as Json),
        ...withText('description', fieldDescription(names, textName)),
        ...withText('example', fieldExample(names, textName)),
      },
    ]
  })
  return { ...described, properties: Object.fromEntries(fields) }
}

/** The keywords that hold schemas. */
const NESTED = new Set(['items', 'anyOf', 'additionalProperties'])

const withText = (key: string, value: unknown) => (value === undefined ? {} : { [key]: value })
