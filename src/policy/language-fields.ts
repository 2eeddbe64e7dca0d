import type { TSchema } from 'typebox'

/** One field of an action's configuration. */
export interface FieldDescription {
  /** With its parents: `jws.allowed_algorithms`; `[]` stands for an entry of a list. */
  readonly name: string
  /** What may be in it, with its limits. */
  readonly type: string
  readonly required: boolean
  readonly default?: unknown
  readonly description: string
  /** The words that may be in it, where there are only some. */
  readonly choices?: readonly string[]
}

/** What the fields of configurations have in their schemas. */
interface FieldSchema {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, FieldSchema>>
  readonly patternProperties?: Readonly<Record<string, FieldSchema>>
  readonly required?: readonly string[]
  readonly items?: FieldSchema
  readonly anyOf?: readonly { readonly const?: string }[]
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly minProperties?: number
  readonly maxProperties?: number
  readonly 'x-cel'?: 'template' | 'expression'
  readonly 'x-seconds'?: readonly [number, number]
}

/** Describes the fields of a configuration, those inside others too. */
export function describeFields(schema: TSchema): FieldDescription[] {
  return fieldsIn(schema as FieldSchema, '')
}

function fieldsIn({ properties = {}, required = [] }: FieldSchema, parent: string): FieldDescription[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const name = `${parent}${key}`
    const choices = choicesOf(schema) ?? (schema.items && choicesOf(schema.items))
    return [
      {
        name,
        type: typeOf(schema),
        required: required.includes(key),
        ...('default' in schema && { default: schema.default }),
        description: schema.description ?? '',
        ...(choices && { choices }),
      },
      ...fieldsIn(schema, `${name}.`),
      ...(schema.items ? fieldsIn(schema.items, `${name}[].`) : []),
    ]
  })
}

function choicesOf({ type, anyOf }: FieldSchema): string[] | undefined {
  if (type === 'boolean') return ['true', 'false']
  const words = anyOf?.flatMap((each) => each.const ?? []) ?? []
  return words.length === 0 ? undefined : words
}

function typeOf(schema: FieldSchema): string {
  const seconds = schema['x-seconds']
  if (seconds !== undefined) return `duration, ${seconds[0]}s to ${seconds[1]}s`
  switch (schema.type) {
    case 'boolean':
      return '`true` or `false`'
    case 'integer':
    case 'number':
      return `${schema.type === 'integer' ? 'whole number' : 'number'}, ${schema.minimum} to ${schema.maximum}`
    case 'string':
      return `${textOf(schema)}${limitsOf(schema.minLength, schema.maxLength, 'character')}`
    case 'array':
      return `list of ${typeOf(schema.items ?? {})}${limitsOf(schema.minItems, schema.maxItems, 'entry')}`
    case 'object':
      return mapText(schema)
    default:
      return (
        choicesOf(schema)
          ?.map((word) => `\`${word}\``)
          .join(', ') ?? 'any value'
      )
  }
}

function textOf(schema: FieldSchema): string {
  if (schema['x-cel'] === 'expression') return 'expression'
  const base = schema.format === 're2' ? 'regular expression' : 'text'
  return schema['x-cel'] === 'template' ? `${base} with \`\${}\`` : base
}

function mapText({ patternProperties, minProperties, maxProperties }: FieldSchema): string {
  const [value] = Object.values(patternProperties ?? {})
  return value === undefined
    ? 'map'
    : `map of ${typeOf(value)}${limitsOf(minProperties, maxProperties, 'entry')}`
}

function limitsOf(minimum: number | undefined, maximum: number | undefined, unit: string): string {
  if (maximum === undefined) return ''
  const noun = maximum === 1 ? unit : unit.replace(/y?$/, (end) => (end === 'y' ? 'ies' : 's'))
  if (minimum === maximum) return `, ${maximum} ${noun}`
  return minimum === undefined || minimum === 0
    ? `, at most ${maximum} ${noun}`
    : `, ${minimum} to ${maximum} ${noun}`
}
