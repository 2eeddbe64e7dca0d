/** A JSON schema of the OpenAPI document, as far as it describes types. */
export interface Schema {
  readonly $ref?: string
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly type?: string | readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly patternProperties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly description?: string
}

/** The TypeScript type of the values that a schema allows. */
export function typeOf(schema: Schema, indent = ''): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').at(-1)!
  if (schema.anyOf !== undefined)
    return [...new Set(schema.anyOf.map((each) => typeOf(each, indent)))].join(' | ')
  if (schema.enum !== undefined) return schema.enum.map((value) => JSON.stringify(value)).join(' | ')
  if ('const' in schema) return JSON.stringify(schema.const)
  if (schema.type === undefined) return 'unknown'
  return [schema.type]
    .flat()
    .map((type) => typeOfKind(type, schema, indent))
    .join(' | ')
}

function typeOfKind(type: string, schema: Schema, indent: string): string {
  switch (type) {
    case 'integer':
      return 'number'
    case 'array': {
      const item = typeOf(schema.items ?? {}, indent)
      return / [|&] /.test(item) ? `(${item})[]` : `${item}[]`
    }
    case 'object':
      return typeOfObject(schema, indent)
    default:
      return type
  }
}

function typeOfObject(schema: Schema, indent: string): string {
  const { properties = {}, additionalProperties, patternProperties = {} } = schema
  if (Object.keys(properties).length > 0) return fieldsOf(schema, indent)
  if (additionalProperties === false) return 'Record<string, never>'
  const [value = additionalProperties] = Object.values(patternProperties)
  return `Record<string, ${typeof value === 'object' ? typeOf(value, indent) : 'unknown'}>`
}

/** The braces of an object type, with the description of each field. */
export function fieldsOf({ properties = {}, required = [] }: Schema, indent: string): string {
  const inner = `${indent}  `
  const fields = Object.entries(properties).map(([name, field]) => {
    const optional = required.includes(name) ? '' : '?'
    return `${comment(field.description, inner)}${inner}${name}${optional}: ${typeOf(field, inner)}\n`
  })
  return `{\n${fields.join('')}${indent}}`
}

/** A doc comment on a line of its own, or nothing. */
export function comment(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text.replaceAll('*/', '*\\/').replaceAll('\n', ' ')} */\n`
}
