import { type TProperties, type TSchema, Type } from 'typebox'
import { errorMessage } from '../../base/text/error-message.ts'
import { idPattern, prefixOf } from '../../base/values/id.ts'

/**
 * A value that matches its JSON Schema but violates a rule beyond it. `field` is the dotted path in the request body;
 * undefined for the body as a whole.
 */
export class InvalidValue extends Error {
  override name = 'InvalidValue'
  readonly field: string | undefined
  readonly mistake: Mistake

  constructor(field: string | undefined, message: string, mistake: Mistake = 'invalid_field') {
    super(message)
    this.field = field
    this.mistake = mistake
  }
}

/** The mistakes that callers of the API tell apart by a code of their own, and the one for all others. */
export type Mistake = 'invalid_field' | 'cidr_invalid' | 'cidr_not_lowest'

/** What rendering a response needs beyond the record. */
export interface RenderContext {
  /** Absolute URI of the resource with this id. */
  uriOf(id: string): string
  /** Whether to include the secrets that the API documents as readable; they are null otherwise. */
  readonly secrets: boolean
}

/** A referenced resource in a response. */
export interface Ref {
  id: string
  uri: string
}

/** A reference inside a value, and the effect of deleting its target. */
export interface Pointer {
  readonly target: string
  readonly prefixes: readonly string[]
  readonly onDelete: 'restrict' | 'cascade'
  /** Path inside the value; empty for the value itself. */
  readonly path: string
}

/**
 * The declaration of a value: how requests write it and records store it (`W`), how responses return it (`R`), and its
 * write name where that differs (`K`).
 */
export interface Value<
  W = unknown,
  R = W,
  K extends string | undefined = string | undefined,
  Q extends boolean = boolean,
> {
  readonly written: TSchema
  readonly read: TSchema
  readonly key: K
  /** Required at creation; otherwise `fallback` is the default. */
  readonly required: Q
  readonly fallback: W
  /** What it is, in one or two sentences, for the OpenAPI document, the reference and the forms of the dashboard. */
  readonly description?: string
  /** For the example requests of the reference, which leave out what has none unless it is required. */
  readonly example?: unknown
  /** Set by the service, not by requests: `shown` in responses or `unseen`. */
  readonly byService?: 'shown' | 'unseen'
  /** An update changes the fields of the object that it names, and leaves the others as they are. */
  readonly mergesUpdates?: boolean
  /** Dotted paths of secrets inside the value, sealed at rest; the empty path is the value itself. */
  readonly sealed: readonly string[]
  /** The secrets that responses return nevertheless, as the API documents. */
  readonly revealed?: readonly string[]
  /** Validates what JSON Schema cannot, and normalizes the value. */
  check(value: W, path: string): W
  /** Adds the defaults of fields that the release which stored the value did not have. Absent where none can be missing. */
  complete?(stored: W): W
  render(value: W, context: RenderContext): R
  pointers(value: W): Pointer[]
}

export type Written<V> = V extends Value<infer W, unknown> ? W : never
export type Read<V> = V extends Value<never, infer R> ? R : V extends Value<infer _W, infer R> ? R : never

/** A value that says what it is; a field of an object or a resource has to. */
export type Described<V extends Value = Value> = V & { readonly description: string }

/** The same value with its description and, where it helps, an example. */
export function described<V extends Value>(value: V, description: string, example?: unknown): Described<V> {
  return { ...value, description, ...(example !== undefined && { example }) }
}

/** The schema of a field with its description, unless it has one, and its example. */
export function describedSchema(schema: TSchema, { description, example }: Value): TSchema {
  return {
    ...schema,
    ...(description !== undefined && !('description' in schema) && { description }),
    ...(example !== undefined && { example }),
  }
}

/** The schema with null allowed: as a second type where possible, so that validation errors stay readable. */
function orNull(schema: TSchema): TSchema {
  const { type, enum: values } = schema as { type?: unknown; enum?: unknown[] }
  if (values !== undefined) return { ...schema, enum: [...values, null] }
  if (typeof type === 'string') return { ...schema, type: [type, 'null'] }
  return Type.Union([schema, Type.Null()])
}

/** A value that reads as it is written. */
export function plain<T>(
  schema: TSchema,
  fallback: T,
  check: (value: T, path: string) => T = (value) => value,
): Value<T, T, undefined, false> {
  return {
    written: schema,
    read: schema,
    key: undefined,
    required: false,
    fallback,
    sealed: [],
    check,
    render: (value) => value,
    pointers: () => [],
  }
}

/** The same value, required at creation. */
export function required<W, R, K extends string | undefined>(
  value: Value<W, R, K, boolean>,
): Value<W, R, K, true> {
  return { ...value, required: true }
}

/** The same value, null while unset. */
export function nullable<W, R, K extends string | undefined>(
  value: Value<W, R, K, boolean>,
): Value<W | null, R | null, K, false> {
  return {
    ...value,
    required: false,
    fallback: null,
    read: orNull(value.read),
    check: (input, path) => (input === null ? null : value.check(input, path)),
    complete: (stored) => (stored === null ? null : (value.complete?.(stored) ?? stored)),
    render: (input, context) => (input === null ? null : value.render(input, context)),
    pointers: (input) => (input === null ? [] : value.pointers(input)),
  }
}

/** The same value, set by the service: requests cannot write it, and responses return it unless it is `unseen`. */
export function byService<V extends Value>(value: V, visibility: 'shown' | 'unseen' = 'shown'): V {
  return { ...value, byService: visibility }
}

/** The same object, of which an update changes the fields that it names. */
export function mergingUpdates<V extends Value>(value: V): V {
  return { ...value, mergesUpdates: true }
}

/** The same text with valid examples for forms and documentation. */
export function withExamples<V extends Value>(value: V, examples: Iterable<string>): V {
  return { ...value, written: { ...value.written, examples: [...examples] } }
}

/**
 * The same value, of which the OpenAPI document says more. Requests are checked by its own rule, whose message explains the
 * mistake, and values in responses may be older than the rule.
 */
export function documentedAs<V extends Value>(
  value: V,
  schema: { pattern?: string; uniqueItems?: true; propertyNames?: { pattern: string } },
): V {
  return { ...value, written: { ...value.written, 'x-documented': schema } }
}

/** The same value; empty text means unset, as in the samples of the API documents. */
export function emptyAsUnset<V extends Value>(value: V): V {
  return { ...value, written: { ...value.written, 'x-empty-means-unset': true } }
}

/** The same value with another default. */
export function withDefault<W, R, K extends string | undefined>(
  value: Value<W, R, K, boolean>,
  fallback: W,
): Value<W, R, K, false> {
  return { ...value, required: false, fallback }
}

/** JSON can express a lone surrogate (`"\ud800"`), which UTF-8 cannot encode: it would be stored as something else. */
function requireWellFormed(value: string, path: string): void {
  if (!value.isWellFormed())
    throw new InvalidValue(path, `${path} is not valid Unicode: it holds one half of a surrogate pair alone.`)
}

/** Text with a maximum size in bytes, not characters: storage and the documented limits count bytes. */
export function text(maxBytes: number, rule?: (value: string) => string | undefined) {
  return plain<string>(Type.String({ maxLength: maxBytes }), '', (value, path) => {
    const bytes = Buffer.byteLength(value)
    if (bytes > maxBytes)
      throw new InvalidValue(path, `${path} is ${bytes} bytes long; at most ${maxBytes} are allowed.`)
    requireWellFormed(value, path)
    const violation = rule?.(value)
    if (violation !== undefined) throw new InvalidValue(path, `${path} ${violation}`)
    return value
  })
}

/** Text that matches a pattern; the OpenAPI document has it too. */
export function matching(maxBytes: number, pattern: RegExp, violation: (value: string) => string) {
  const rule = (value: string) => (pattern.test(value) ? undefined : violation(value))
  return documentedAs(text(maxBytes, rule), { pattern: pattern.source })
}

/** Text that is not empty. */
export function nonEmpty(maxBytes: number) {
  return matching(maxBytes, /[\s\S]/, () => 'must not be empty.')
}

/** What a name is: text with something to see, and without control characters. */
export const VISIBLE =
  /^[^\S\u0000-\u001f\u007f-\u009f]*[^\s\u0000-\u001f\u007f-\u009f][^\u0000-\u001f\u007f-\u009f]*$/

/** A visible unique name without control characters, which would make two names look alike. */
export function name(maxBytes: number, rule: (value: string) => string | undefined = () => undefined) {
  return text(maxBytes, (value) =>
    /[\p{Cc}\p{Cs}]/u.test(value) ? 'must not hold control characters.' : rule(value),
  )
}

/** Text normalized by `parse`, which throws an Error with the reason. */
export function parsed(
  maxBytes: number,
  parse: (value: string) => string,
  mistakeOf: (error: unknown) => Mistake = () => 'invalid_field',
) {
  const base = text(maxBytes)
  return {
    ...base,
    check(value: string, path: string): string {
      base.check(value, path)
      try {
        return parse(value)
      } catch (error) {
        throw new InvalidValue(path, `${path}: ${errorMessage(error)}`, mistakeOf(error))
      }
    },
  }
}

/**
 * A secret, sealed at rest. A `shown` secret is returned to callers that may change it, as the API documents, and is null
 * otherwise. Null in an update keeps the stored secret, so that a response can be sent back.
 */
export function secret<W extends string | null, K extends string | undefined, Q extends boolean>(
  value: Value<W, W, K, Q>,
  visibility: 'shown' | 'redacted',
): Value<W, W | null, K, Q> {
  const sealed = { ...value, sealed: [''], read: orNull(value.read) }
  return visibility === 'redacted'
    ? { ...sealed, render: () => null }
    : { ...sealed, revealed: [''], render: (value, { secrets }) => (secrets ? value : null) }
}

export function flag(fallback: boolean) {
  return plain<boolean>(Type.Boolean(), fallback)
}

export function integer(minimum: number, maximum: number, fallback: number) {
  return plain<number>(Type.Integer({ minimum, maximum }), fallback)
}

/** A 32-bit unsigned integer, the type of durations in seconds in the API documents. */
export const uint32 = (fallback: number) => integer(0, 4_294_967_295, fallback)

export function fraction(fallback: number) {
  return plain<number>(Type.Number({ minimum: 0, maximum: 1 }), fallback)
}

/** One of these values. */
export function choice<const T extends string>(values: readonly T[], fallback: NoInfer<T>) {
  return plain<T>(Type.Enum([...values]) as TSchema, fallback)
}

/** A list; `maxItems` bounds the memory of one request. */
export function list<W, R>(
  item: Value<W, R>,
  options: { maxItems?: number; minItems?: number; rule?: (items: W[]) => string | undefined } = {},
): Value<W[], R[], undefined, false> {
  const { maxItems = 1000, minItems, rule } = options
  const bounds = minItems === undefined ? { maxItems } : { maxItems, minItems }
  return {
    written: Type.Array(item.written, bounds),
    read: Type.Array(item.read),
    key: undefined,
    required: false,
    fallback: [],
    sealed: [],
    check(values, path) {
      const checked = values.map((value, index) => item.check(value, `${path}[${index}]`))
      const violation = rule?.(checked)
      if (violation !== undefined) throw new InvalidValue(path, `${path} ${violation}`)
      return checked
    },
    complete: (stored) => stored.map((value) => item.complete?.(value) ?? value),
    render: (values, context) => values.map((value) => item.render(value, context)),
    pointers: (values) =>
      values.flatMap((value, index) =>
        item.pointers(value).map((pointer) => ({ ...pointer, path: `[${index}]` })),
      ),
  }
}

/** A map from text to values. `name` validates and normalizes a key. */
export function map<W>(
  item: Value<W, W>,
  options: { maxItems?: number; name?: (key: string, path: string) => string } = {},
): Value<Record<string, W>, Record<string, W>, undefined, false> {
  const { maxItems = 1000, name = (key) => key } = options
  return {
    // Not Type.Record, whose pattern does not check keys with line breaks.
    written: Type.Object({}, { additionalProperties: item.written, maxProperties: maxItems }),
    read: Type.Object({}, { additionalProperties: item.read }),
    key: undefined,
    required: false,
    fallback: {},
    sealed: [],
    check(entries, path) {
      const checked: Record<string, W> = {}
      for (const [key, value] of Object.entries(entries)) {
        requireWellFormed(key, path)
        const normalized = name(key, path)
        if (Object.hasOwn(checked, normalized))
          throw new InvalidValue(path, `${path} names ${normalized} twice.`)
        checked[normalized] = item.check(value, `${path}.${key}`)
      }
      return checked
    },
    render: (entries) => entries,
    pointers: () => [],
  }
}

const refSchema = Type.Object(
  {
    id: Type.String({ description: 'The ID of the object.' }),
    uri: Type.String({ description: 'The address of the object in the API.' }),
  },
  { title: 'Ref' },
)

function checkId(id: string, prefixes: readonly string[], path: string): string {
  const prefix = prefixOf(id)
  if (prefix === undefined || !prefixes.includes(prefix))
    throw new InvalidValue(
      path,
      `${path}: "${id}" is not an id of the form ${prefixes.map((p) => `${p}_…`).join(' or ')}.`,
    )
  return id
}

/** The schema of an id; forms list the resources whose ids have one of these prefixes. */
export function idSchema(prefixes: readonly string[]): TSchema {
  return Type.String({ 'x-refers-to': [...prefixes], 'x-documented': { pattern: idPattern(prefixes) } })
}

/** An id returned as plain text. */
export function idOf(prefixes: readonly string[], onDelete: 'restrict' | 'cascade' = 'restrict') {
  return {
    ...plain<string>(idSchema(prefixes), '', (id, path) => checkId(id, prefixes, path)),
    pointers: (id: string): Pointer[] => (id === '' ? [] : [{ target: id, prefixes, onDelete, path: '' }]),
  }
}

/** A reference to one resource: written as an id under `key`, read as a Ref. */
export function reference<K extends string>(
  prefixes: readonly string[],
  key: K,
  onDelete: 'restrict' | 'cascade' = 'restrict',
): Value<string, Ref, K, false> {
  const id = idOf(prefixes, onDelete)
  return {
    ...id,
    key,
    read: refSchema,
    render: (target, context) => ({ id: target, uri: context.uriOf(target) }),
  }
}

/** References to several resources: written as ids under `key`, read as Refs. */
export function references<K extends string>(
  prefixes: readonly string[],
  key: K,
  options: { minItems?: number; maxItems?: number } = {},
): Value<string[], Ref[], K, false> {
  const ids = documentedAs(
    list(idOf(prefixes), {
      ...options,
      rule: (items) => (new Set(items).size === items.length ? undefined : 'names the same id twice.'),
    }),
    { uniqueItems: true },
  )
  return {
    ...ids,
    key,
    read: Type.Array(refSchema),
    render: (targets, context) => targets.map((id) => ({ id, uri: context.uriOf(id) })),
  }
}

/** Named values of one object. */
export type Fields = Record<string, Value>
export type DescribedFields = Record<string, Described>
export type KeyIn<F extends Fields, N extends keyof F> = F[N]['key'] extends string ? F[N]['key'] : N
export type WrittenObject<F extends Fields> = { [N in keyof F as KeyIn<F, N>]: Written<F[N]> }
export type ReadObject<F extends Fields> = { [N in keyof F]: Read<F[N]> }

/** The request schema of these values: required ones must be present, the others may be absent or null. */
export function writtenSchema(fields: Fields, options: { partial?: boolean } = {}) {
  const properties: TProperties = {}
  for (const [name, value] of Object.entries(fields)) {
    if (value.byService !== undefined) continue
    const isRequired = value.required && !options.partial
    const schema = isRequired && !isShownSecret(value) ? value.written : orNull(value.written)
    properties[value.key ?? name] = isRequired
      ? describedSchema(schema, value)
      : Type.Optional(describedSchema({ ...schema, ...(options.partial ? {} : defaultOf(value)) }, value))
  }
  return Type.Object(properties, { additionalProperties: false })
}

function isShownSecret({ revealed = [] }: Value): boolean {
  return revealed.includes('')
}

/** The default for the schema, if the fallback is not empty. */
function defaultOf({ fallback }: Value): { default?: unknown } {
  const hasDefault = typeof fallback === 'boolean' || typeof fallback === 'number' || isText(fallback)
  return hasDefault ? { default: fallback } : {}
}

const isText = (value: unknown) => typeof value === 'string' && value !== ''

/** Validates the values of an object and fills in defaults. */
export function checkObject(
  fields: Fields,
  input: Record<string, unknown>,
  path: string,
): Record<string, unknown> {
  const checked: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(fields)) {
    const key = value.key ?? name
    const fieldPath = path === '' ? key : `${path}.${key}`
    const inputValue = value.byService === undefined ? input[key] : undefined
    if (inputValue !== undefined && inputValue !== null) checked[key] = value.check(inputValue, fieldPath)
    else if (value.required || (inputValue === null && standsForSecret(value)))
      throw new InvalidValue(fieldPath, `${fieldPath} is required.`)
    else checked[key] = value.fallback
  }
  return checked
}

/** Null stands for the stored secret, so that a copy without one must not become a value of its own. */
function standsForSecret(value: Value): boolean {
  return isShownSecret(value) && value.fallback !== null
}

/** Joins the paths inside each of these values to dotted paths. */
export function pathsOf(fields: Fields, inner: (value: Value) => readonly string[]): string[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    const key = value.key ?? name
    return inner(value).map((path) => (path === '' ? key : `${key}.${path}`))
  })
}

/** A violated rule of an object: a message about the whole object or about one field. */
export type RuleViolation = string | { readonly field: string; readonly message: string }

function toInvalidValue(path: string, violation: RuleViolation): InvalidValue {
  const [field, message] =
    typeof violation === 'string' ? ['', violation] : [violation.field, violation.message]
  const fieldPath = path === '' || field === '' ? `${path}${field}` : `${path}.${field}`
  return fieldPath === ''
    ? new InvalidValue(undefined, message)
    : new InvalidValue(fieldPath, `${fieldPath}: ${message}`)
}

/** An object of named values; `rule` validates them together. */
export function object<F extends DescribedFields>(
  fields: F,
  options: { name?: string; rule?: (value: WrittenObject<F>) => RuleViolation | undefined } = {},
): Value<WrittenObject<F>, ReadObject<F>, undefined, false> {
  const entries = Object.entries(fields)
  const visible = entries.filter(([, value]) => value.byService !== 'unseen')
  const title = options.name === undefined ? {} : { title: options.name }
  return {
    written: { ...writtenSchema(fields), ...title },
    read: {
      ...Type.Object(
        Object.fromEntries(visible.map(([name, value]) => [name, describedSchema(value.read, value)])),
      ),
      ...title,
    },
    key: undefined,
    required: false,
    fallback: Object.fromEntries(
      entries.map(([name, value]) => [value.key ?? name, value.fallback]),
    ) as WrittenObject<F>,
    sealed: pathsOf(fields, ({ sealed }) => sealed),
    revealed: pathsOf(fields, ({ revealed = [] }) => revealed),
    check(input, path) {
      const checked = checkObject(fields, input as Record<string, unknown>, path) as WrittenObject<F>
      const violation = options.rule?.(checked)
      if (violation !== undefined) throw toInvalidValue(path, violation)
      return checked
    },
    complete(input) {
      const stored = input as Record<string, unknown>
      return Object.fromEntries(
        entries.map(([name, value]) => {
          const key = value.key ?? name
          return [key, key in stored ? (value.complete?.(stored[key]) ?? stored[key]) : value.fallback]
        }),
      ) as WrittenObject<F>
    },
    render(input, context) {
      const stored = input as Record<string, unknown>
      return Object.fromEntries(
        visible.map(([name, value]) => {
          const key = value.key ?? name
          return [name, value.render(key in stored ? stored[key] : value.fallback, context)]
        }),
      ) as ReadObject<F>
    },
    pointers(input) {
      const stored = input as Record<string, unknown>
      return entries.flatMap(([name, value]) =>
        value.pointers(stored[value.key ?? name]).map((pointer) => ({
          ...pointer,
          path: `${value.key ?? name}${pointer.path === '' || pointer.path.startsWith('[') ? pointer.path : `.${pointer.path}`}`,
        })),
      )
    },
  }
}
