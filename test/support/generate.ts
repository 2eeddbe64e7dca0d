import type { SeededRandom } from './random.ts'

type Json = Record<string, unknown>

/** A JSON Schema as used in the OpenAPI document. */
export interface JsonSchema {
  $ref?: string
  type?: string | string[]
  enum?: unknown[]
  anyOf?: JsonSchema[]
  properties?: Record<string, JsonSchema>
  required?: string[]
  items?: JsonSchema
  additionalProperties?: boolean | JsonSchema
  maxLength?: number
  minimum?: number
  maximum?: number
  minItems?: number
  maxItems?: number
}

const WORDS = [
  '',
  'a',
  'example.com',
  'app.example.com:443',
  '10.0.0.0/8',
  '/path',
  'bind:*',
  'json',
  'https://example.com',
  '2030-01-01T00:00:00Z',
  'GET',
  '🙂',
  'é\u0000\n',
  '%s%n',
  "' OR 1=1 --",
  '\ud800',
  '<x/>',
  '-----BEGIN CERTIFICATE-----',
]
const ODD_VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  0,
  1.5,
  1e308,
  2 ** 53,
  '',
  'x',
  [],
  [[]],
  {},
  { a: { b: [] } },
]

/** Generates a value that mostly fits the schema and sometimes violates it. `ids` are existing ids to refer to. */
export function generate(
  random: SeededRandom,
  schema: JsonSchema,
  ids: readonly string[],
  depth = 0,
): unknown {
  if (random.below(25) === 0) return random.pick(ODD_VALUES)
  if (schema.enum !== undefined) return random.pick(schema.enum)
  if (schema.anyOf !== undefined) return generate(random, random.pick(schema.anyOf), ids, depth)
  const type = random.pick([schema.type ?? 'object'].flat())
  switch (type) {
    case 'string':
      return generateText(random, schema, ids)
    case 'integer':
    case 'number': {
      const low = schema.minimum ?? -10
      const high = schema.maximum ?? 10
      return random.pick([
        low,
        high,
        low - 1,
        high + 1,
        low + random.below(Math.min(high - low + 1, 1e6)),
        0.5,
      ])
    }
    case 'boolean':
      return random.below(2) === 0
    case 'array': {
      const maxItems = random.below(20) === 0 ? (schema.maxItems ?? 10) + 1 : 3
      const length = Math.min(random.below(maxItems + 1), 200)
      return Array.from({ length }, () => generate(random, schema.items ?? {}, ids, depth + 1))
    }
    case 'object':
      return generateObject(random, schema, ids, depth)
    default:
      return null
  }
}

function generateText(random: SeededRandom, { maxLength = 300 }: JsonSchema, ids: readonly string[]): string {
  const roll = random.below(10)
  if (roll < 4 && ids.length > 0) return random.pick(ids)
  if (roll === 4) return 'x'.repeat(Math.min(maxLength + random.below(2), 5000))
  if (roll === 5) return random.bytes(random.below(40)).toString('latin1')
  return random.pick(WORDS)
}

function generateObject(
  random: SeededRandom,
  schema: JsonSchema,
  ids: readonly string[],
  depth: number,
): Json {
  const object: Json = {}
  for (const [name, inner] of Object.entries(schema.properties ?? {})) {
    const isRequired = schema.required?.includes(name) ?? false
    if (random.below(20) === 0 ? !isRequired : isRequired || random.below(depth === 0 ? 2 : 3) === 0)
      object[name] = generate(random, inner, ids, depth + 1)
  }
  if (typeof schema.additionalProperties === 'object')
    for (let count = random.below(3); count > 0; count--)
      object[random.pick([...WORDS, ...ids])] = generate(random, schema.additionalProperties, ids, depth + 1)
  if (random.below(30) === 0) object[random.pick(WORDS)] = random.pick(ODD_VALUES)
  return object
}
