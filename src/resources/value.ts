import { type TProperties, type TSchema, Type } from 'typebox'
import { prefixOf } from '../base/id.ts'

/**
 * A value that fits its JSON Schema but breaks a rule beyond it; `field` is the dotted path a caller can find, and
 * undefined when the whole body is meant.
 */
export class InvalidValue extends Error {
  override name = 'InvalidValue'
  readonly field: string | undefined

  constructor(field: string | undefined, message: string) {
    super(message)
    this.field = field
  }
}

/** What answers need to know beyond the record itself. */
export interface Showing {
  /** Absolute address of the resource with this id. */
  uriOf(id: string): string
  /** Whether secrets that the documents show are shown; null stands in their place otherwise. */
  readonly secrets: boolean
}

/** A resource pointed at, as answers show it. */
export interface Ref {
  id: string
  uri: string
}

/** An id found inside a value, and what its deletion does. */
export interface Pointer {
  readonly target: string
  readonly prefixes: readonly string[]
  readonly onDelete: 'restrict' | 'cascade'
  /** Where it stands inside the value; empty for the value itself. */
  readonly at: string
}

/**
 * One kind of value, said once: how requests write it (`W`, which is also how records keep it), how answers read it
 * (`R`), and the name it is written under where that differs (`K`).
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
  /** Required at creation; otherwise `fallback` stands in for what is not given. */
  readonly required: Q
  readonly fallback: W
  /** Set by the service, not by requests: `shown` in answers or `unseen`. */
  readonly byService?: 'shown' | 'unseen'
  /** Dotted paths of secrets inside the value, kept sealed at rest; the empty path is the value itself. */
  readonly sealed: readonly string[]
  /** Those of them that answers show all the same, because the documents say so. */
  readonly revealed?: readonly string[]
  /** Checks what JSON Schema cannot and brings the value into its one normal form. */
  check(value: W, path: string): W
  show(value: W, context: Showing): R
  pointers(value: W): Pointer[]
}

export type Written<V> = V extends Value<infer W, unknown> ? W : never
export type Read<V> = V extends Value<never, infer R> ? R : V extends Value<infer _W, infer R> ? R : never

/** The schema, with null allowed too: as a second type where there is one, so that complaints stay readable. */
export function orNull(schema: TSchema): TSchema {
  const { type, enum: values } = schema as { type?: unknown; enum?: unknown[] }
  if (values !== undefined) return { ...schema, enum: [...values, null] }
  if (typeof type === 'string') return { ...schema, type: [type, 'null'] }
  return Type.Union([schema, Type.Null()])
}

/** A value that is read as it is written. */
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
    show: (value) => value,
    pointers: () => [],
  }
}

/** The same value, which a creation must give. */
export function required<W, R, K extends string | undefined>(
  value: Value<W, R, K, boolean>,
): Value<W, R, K, true> {
  return { ...value, required: true }
}

/** The same value, null while it is not set. */
export function nullable<W, R, K extends string | undefined>(
  value: Value<W, R, K, boolean>,
): Value<W | null, R | null, K, false> {
  return {
    ...value,
    required: false,
    fallback: null,
    read: orNull(value.read),
    check: (input, path) => (input === null ? null : value.check(input, path)),
    show: (input, context) => (input === null ? null : value.show(input, context)),
    pointers: (input) => (input === null ? [] : value.pointers(input)),
  }
}

/** The same value, set by the service: requests cannot write it, and answers show it unless it is `unseen`. */
export function byService<V extends Value>(value: V, visibility: 'shown' | 'unseen' = 'shown'): V {
  return { ...value, byService: visibility }
}

/** The same text, with the words that are known to fit, for forms and documents to offer. */
export function withExamples<V extends Value>(value: V, examples: Iterable<string>): V {
  return { ...value, written: { ...value.written, examples: [...examples] } }
}

/** The same word; empty text in its place, as samples of the documents show it, means that it is not given. */
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

/** JSON can spell half a character (`"\ud800"`), which no UTF-8 carries: it would be kept as something else. */
function requireWellFormed(value: string, path: string): void {
  if (!value.isWellFormed())
    throw new InvalidValue(path, `${path} is not valid Unicode: it holds one half of a surrogate pair alone.`)
}

/** Text of at most so many bytes: what people see counts characters, what we store and promise counts bytes. */
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

/** A name people see and the store keeps unique: control characters would make two names look like one. */
export function name(maxBytes: number, rule: (value: string) => string | undefined = () => undefined) {
  return text(maxBytes, (value) =>
    /[\p{Cc}\p{Cs}]/u.test(value) ? 'must not hold control characters.' : rule(value),
  )
}

/** Text brought into a normal form by `parse`, which throws a plain Error saying what is wrong. */
export function parsed(maxBytes: number, parse: (value: string) => string) {
  const base = text(maxBytes)
  return {
    ...base,
    check(value: string, path: string): string {
      base.check(value, path)
      try {
        return parse(value)
      } catch (error) {
        throw new InvalidValue(path, `${path}: ${(error as Error).message}`)
      }
    },
  }
}

/**
 * A secret: sealed at rest; `shown` where the documents say so, to callers that may change it, and null otherwise. Null
 * in an update leaves a shown one as it is stored, so that what was read can be sent back.
 */
export function secret<W extends string | null, K extends string | undefined, Q extends boolean>(
  value: Value<W, W, K, Q>,
  visibility: 'shown' | 'redacted',
): Value<W, W | null, K, Q> {
  const sealed = { ...value, sealed: [''], read: orNull(value.read) }
  return visibility === 'redacted'
    ? { ...sealed, show: () => null }
    : { ...sealed, revealed: [''], show: (value, { secrets }) => (secrets ? value : null) }
}

export function flag(fallback: boolean) {
  return plain<boolean>(Type.Boolean(), fallback)
}

export function integer(minimum: number, maximum: number, fallback: number) {
  return plain<number>(Type.Integer({ minimum, maximum }), fallback)
}

/** A 32-bit unsigned number, as the documents type seconds. */
export const uint32 = (fallback: number) => integer(0, 4_294_967_295, fallback)

export function fraction(fallback: number) {
  return plain<number>(Type.Number({ minimum: 0, maximum: 1 }), fallback)
}

/** One of these words. */
export function choice<const T extends string>(values: readonly T[], fallback: NoInfer<T>) {
  return plain<T>(Type.Enum([...values]) as TSchema, fallback)
}

/** A list; `maxItems` bounds what one request can make us hold. */
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
    show: (values, context) => values.map((value) => item.show(value, context)),
    pointers: (values) =>
      values.flatMap((value, index) =>
        item.pointers(value).map((pointer) => ({ ...pointer, at: `[${index}]` })),
      ),
  }
}

/** A map from text to values. `name` checks a key and may bring it into normal form. */
export function map<W>(
  item: Value<W, W>,
  options: { maxItems?: number; name?: (key: string, path: string) => string } = {},
): Value<Record<string, W>, Record<string, W>, undefined, false> {
  const { maxItems = 1000, name = (key) => key } = options
  return {
    // Not Type.Record, whose pattern leaves keys with line ends unchecked.
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
    show: (entries) => entries,
    pointers: () => [],
  }
}

export const refSchema = Type.Object({ id: Type.String(), uri: Type.String() }, { title: 'Ref' })

function checkId(id: string, prefixes: readonly string[], path: string): string {
  const prefix = prefixOf(id)
  if (prefix === undefined || !prefixes.includes(prefix))
    throw new InvalidValue(
      path,
      `${path}: "${id}" is not an id of the form ${prefixes.map((p) => `${p}_…`).join(' or ')}.`,
    )
  return id
}

/** The schema of an id; forms offer the resources whose ids have one of these prefixes. */
export function idSchema(prefixes: readonly string[]): TSchema {
  return Type.String({ 'x-refers-to': [...prefixes] })
}

/** An id shown as plain text. */
export function idOf(prefixes: readonly string[], onDelete: 'restrict' | 'cascade' = 'restrict') {
  return {
    ...plain<string>(idSchema(prefixes), '', (id, path) => checkId(id, prefixes, path)),
    pointers: (id: string): Pointer[] => (id === '' ? [] : [{ target: id, prefixes, onDelete, at: '' }]),
  }
}

/** One resource pointed at: written as an id under `key`, read as a Ref. */
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
    show: (target, context) => ({ id: target, uri: context.uriOf(target) }),
  }
}

/** Several resources pointed at: written as ids under `key`, read as Refs. */
export function references<K extends string>(
  prefixes: readonly string[],
  key: K,
  options: { minItems?: number; maxItems?: number } = {},
): Value<string[], Ref[], K, false> {
  const ids = list(idOf(prefixes), {
    ...options,
    rule: (items) => (new Set(items).size === items.length ? undefined : 'names the same id twice.'),
  })
  return {
    ...ids,
    key,
    read: Type.Array(refSchema),
    show: (targets, context) => targets.map((id) => ({ id, uri: context.uriOf(id) })),
  }
}

/** Named values of one object. */
export type Fields = Record<string, Value>
export type KeyIn<F extends Fields, N extends keyof F> = F[N]['key'] extends string ? F[N]['key'] : N
export type WrittenObject<F extends Fields> = { [N in keyof F as KeyIn<F, N>]: Written<F[N]> }
export type ReadObject<F extends Fields> = { [N in keyof F]: Read<F[N]> }

/** The request schema of these values: required ones must be there, the rest may be absent or null. */
export function writtenSchema(fields: Fields, options: { partial?: boolean } = {}) {
  const properties: TProperties = {}
  for (const [name, value] of Object.entries(fields)) {
    if (value.byService !== undefined) continue
    const isRequired = value.required && !options.partial
    properties[value.key ?? name] = isRequired
      ? isShownSecret(value)
        ? orNull(value.written)
        : value.written
      : Type.Optional({ ...orNull(value.written), ...(options.partial ? {} : defaultOf(value)) })
  }
  return Type.Object(properties, { additionalProperties: false })
}

function isShownSecret({ revealed = [] }: Value): boolean {
  return revealed.includes('')
}

/** What a creation takes when nothing is given, where that is more than nothing. */
function defaultOf({ fallback }: Value): { default?: unknown } {
  const hasDefault = typeof fallback === 'boolean' || typeof fallback === 'number' || isText(fallback)
  return hasDefault ? { default: fallback } : {}
}

const isText = (value: unknown) => typeof value === 'string' && value !== ''

/** Checks an object's values, filling in what is not given. */
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
    else if (value.required) throw new InvalidValue(fieldPath, `${fieldPath} is required.`)
    else checked[key] = value.fallback
  }
  return checked
}

/** Dotted paths inside these values, from the paths inside each of them. */
export function pathsOf(fields: Fields, inner: (value: Value) => readonly string[]): string[] {
  return Object.entries(fields).flatMap(([name, value]) => {
    const key = value.key ?? name
    return inner(value).map((path) => (path === '' ? key : `${key}.${path}`))
  })
}

/** What is wrong with an object: a sentence about all of it, or one about the field to correct. */
export type RuleViolation = string | { readonly field: string; readonly message: string }

function toInvalidValue(path: string, violation: RuleViolation): InvalidValue {
  const [field, message] =
    typeof violation === 'string' ? ['', violation] : [violation.field, violation.message]
  const fieldPath = path === '' || field === '' ? `${path}${field}` : `${path}.${field}`
  return fieldPath === ''
    ? new InvalidValue(undefined, message)
    : new InvalidValue(fieldPath, `${fieldPath}: ${message}`)
}

/** An object made of named values; `rule` looks at them together. */
export function object<F extends Fields>(
  fields: F,
  options: { name?: string; rule?: (value: WrittenObject<F>) => RuleViolation | undefined } = {},
): Value<WrittenObject<F>, ReadObject<F>, undefined, false> {
  const entries = Object.entries(fields)
  const visible = entries.filter(([, value]) => value.byService !== 'unseen')
  const title = options.name === undefined ? {} : { title: options.name }
  return {
    written: { ...writtenSchema(fields), ...title },
    read: {
      ...Type.Object(Object.fromEntries(visible.map(([name, value]) => [name, value.read]))),
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
    show(input, context) {
      const stored = input as Record<string, unknown>
      return Object.fromEntries(
        visible.map(([name, value]) => [name, value.show(stored[value.key ?? name], context)]),
      ) as ReadObject<F>
    },
    pointers(input) {
      const stored = input as Record<string, unknown>
      return entries.flatMap(([name, value]) =>
        value.pointers(stored[value.key ?? name]).map((pointer) => ({
          ...pointer,
          at: `${value.key ?? name}${pointer.at === '' || pointer.at.startsWith('[') ? pointer.at : `.${pointer.at}`}`,
        })),
      )
    },
  }
}
