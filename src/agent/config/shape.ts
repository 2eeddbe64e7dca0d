import { parseDuration } from './duration.ts'
import { nearest } from './nearest.ts'
import { plainValue, Written } from './source-text.ts'

/** Where in a document something stands: keys and list positions from the top. */
export type Path = readonly (string | number)[]

/** One thing wrong with a document, as a sentence without its place. */
export interface Problem {
  path: Path
  message: string
}

/** Reads an untrusted value into `T`, adding a problem for whatever does not fit. */
export interface Shape<T> {
  read(value: unknown, path: Path, problems: Problem[]): T | undefined
}

/** The type a shape reads. */
export type Read<S> = S extends Shape<infer T> ? T : never

function refuse(problems: Problem[], path: Path, message: string): undefined {
  problems.push({ path, message })
}

/** How a value is called in an error: its kind, never its content, which may be a secret. */
function kindOf(given: unknown): string {
  const value = plainValue(given)
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map'
  if (typeof value === 'boolean') return `the boolean ${value}`
  if (typeof value === 'number') return `the number ${value}`
  return 'a string'
}

const nameOf = (path: Path) => path.join('.').replace(/\.(\d+)(?=\.|$)/g, '[$1]')

/** A string; what YAML takes for something else is taken as written, as users leave quotes away. */
export const text: Shape<string> = {
  read(value, path, problems) {
    if (typeof value === 'string') return value
    if (value instanceof Written) return value.source
    if (typeof value === 'number' || typeof value === 'bigint') return String(value)
    return refuse(problems, path, `${nameOf(path)} must be a string, not ${kindOf(value)}`)
  },
}

/** A string of at most so many bytes. */
export function shortText(bytes: number): Shape<string> {
  return {
    read(value, path, problems) {
      const read = text.read(value, path, problems)
      if (read === undefined || Buffer.byteLength(read) <= bytes) return read
      return refuse(problems, path, `${nameOf(path)} must not be longer than ${bytes} bytes`)
    },
  }
}

const TRUE = /^(?:true|yes|on)$/i
const FALSE = /^(?:false|no|off)$/i

/** What a word says as a switch: YAML 1.1 knew more words than true and false, and people still write them. */
function switched(given: unknown): boolean | undefined {
  const value = plainValue(given)
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string') return undefined
  return TRUE.test(value) ? true : FALSE.test(value) ? false : undefined
}

/** True or false, also as the strings a command line or an environment variable carries. */
export const flag: Shape<boolean> = {
  read(value, path, problems) {
    const read = switched(value)
    if (read !== undefined) return read
    return refuse(problems, path, `${nameOf(path)} must be true or false, not ${kindOf(value)}`)
  },
}

/** True, false, or one word that leaves it open. */
export function flagOr<const W extends string>(word: W): Shape<'true' | 'false' | W> {
  return {
    read(value, path, problems) {
      if (value === word) return word
      const read = switched(value)
      if (read !== undefined) return read ? 'true' : 'false'
      return refuse(problems, path, `${nameOf(path)} must be true, false or ${word}, not ${quote(value)}`)
    },
  }
}

/** A string, or false for none; `kind` says what the string is. */
export function textOrFalse(kind: string): Shape<string> {
  return {
    read(given, path, problems) {
      const value = given instanceof Written ? given.source : given
      if (value === false || (typeof value === 'string' && /^false$/i.test(value))) return 'false'
      if (value === true || (typeof value === 'string' && /^true$/i.test(value))) {
        return refuse(problems, path, `${nameOf(path)} must be ${kind} or false, not true`)
      }
      return text.read(given, path, problems)
    },
  }
}

/** A number within bounds. */
export function number(least: number, most: number, whole = true): Shape<number> {
  return {
    read(given, path, problems) {
      const value = plainValue(given)
      const read = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
      const fits =
        typeof read === 'number' && read >= least && read <= most && (!whole || Number.isInteger(read))
      if (fits) return read
      const kind = whole ? 'a whole number' : 'a number'
      return refuse(
        problems,
        path,
        `${nameOf(path)} must be ${kind} from ${least} to ${most}, not ${kindOf(value)}`,
      )
    },
  }
}

/** A duration such as `10s`, in milliseconds once read; a bare number counts seconds. */
export const duration: Shape<number> = {
  read(given, path, problems) {
    const value = plainValue(given)
    const read =
      typeof value === 'number' ? value * 1000 : typeof value === 'string' ? parseDuration(value) : undefined
    if (read !== undefined && read >= 0) return read
    return refuse(problems, path, `${nameOf(path)} must be a duration such as 10s or 1m30s`)
  },
}

/** One of a few words, of which one may be empty; numbers and booleans match the word they are written as. */
export function choice<const W extends string>(...words: W[]): Shape<W> {
  const some = words.filter((word) => word !== '')
  const allowed = some.length < words.length ? [...some, 'empty'] : some
  const named = allowed.length > 1 ? `one of ${allowed.join(', ')}` : allowed.join()
  return {
    read(value, path, problems) {
      const given = value instanceof Written || typeof value === 'number' || typeof value === 'boolean'
      const word = given ? String(value) : value
      const found = words.find((candidate) => candidate === word)
      if (found !== undefined) return found
      return refuse(problems, path, `${nameOf(path)} must be ${named}, not ${quote(value)}`)
    },
  }
}

function quote(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : kindOf(value)
}

/** A list; a single value where a list is expected is an error that says so. */
export function list<T>(item: Shape<T>): Shape<T[]> {
  return {
    read(value, path, problems) {
      if (!Array.isArray(value))
        return refuse(problems, path, `${nameOf(path)} must be a list, not ${kindOf(value)}`)
      return value.flatMap((each, index) => item.read(each, [...path, index], problems) ?? [])
    },
  }
}

/** A string that may hold several values with commas between them, also written as a list. */
export const textOrList: Shape<string> = {
  read(value, path, problems) {
    if (!Array.isArray(value)) return text.read(value, path, problems)
    if (value.length === 0) return refuse(problems, path, `${nameOf(path)} must not be an empty list`)
    return list(text).read(value, path, problems)?.join(',')
  },
}

/** A map with free keys. */
export function mapOf<T>(item: Shape<T>): Shape<Map<string, T>> {
  return {
    read(value, path, problems) {
      if (!isRecord(value))
        return refuse(problems, path, `${nameOf(path)} must be a map, not ${kindOf(value)}`)
      const read = new Map<string, T>()
      for (const [key, each] of Object.entries(value)) {
        const inner = item.read(each, [...path, key], problems)
        if (inner !== undefined) read.set(key, inner)
      }
      return read
    },
  }
}

/** Anything JSON can say; whoever uses it checks it. */
export const anything: Shape<unknown> = { read: (value) => value ?? undefined }

/** What an object shape holds: every key may be absent. */
export type Fields<F extends Record<string, Shape<unknown>>> = { [K in keyof F]?: Read<F[K]> }

/** An object shape, with its keys known so that others can build on them. */
export interface ObjectShape<F extends Record<string, Shape<unknown>>> extends Shape<Fields<F>> {
  readonly fields: F
}

/** A map with known keys; an unknown key is an error that names the nearest known one, or `moved[key]` when it has a new home. */
export function object<F extends Record<string, Shape<unknown>>>(
  fields: F,
  moved: Readonly<Record<string, string>> = {},
): ObjectShape<F> {
  const known = new Map(Object.entries(fields))
  return {
    fields,
    read(value, path, problems) {
      if (value === null || value === undefined) return {}
      if (!isRecord(value)) {
        return refuse(problems, path, `${nameOf(path) || 'the document'} must be a map, not ${kindOf(value)}`)
      }
      const read: Record<string, unknown> = {}
      for (const [key, each] of Object.entries(value)) {
        const shape = known.get(key)
        const at = [...path, key]
        if (!shape) {
          refuse(
            problems,
            at,
            `unknown key ${JSON.stringify(key.slice(0, 60))}; ${advice(key, known, moved)}`,
          )
        } else if (each !== null && each !== undefined) {
          const inner = shape.read(each, at, problems)
          if (inner !== undefined) read[key] = inner
        }
      }
      return read as Fields<F>
    },
  }
}

const MOST_LISTED = 12

/** What to write instead of a key nobody knows: where it went, the one that was meant, or what there is. */
function advice(
  key: string,
  known: ReadonlyMap<string, unknown>,
  moved: Readonly<Record<string, string>>,
): string {
  if (Object.hasOwn(moved, key)) return moved[key]!
  const guess = nearest(key, [...known.keys(), ...Object.keys(moved)])
  if (guess !== undefined) {
    const meant = `did you mean ${JSON.stringify(guess)}?`
    return known.has(guess) ? meant : `${meant} ${moved[guess]}`
  }
  const listed = [...known.keys()].slice(0, MOST_LISTED).join(', ')
  const more = known.size - MOST_LISTED
  return more > 0
    ? `known here are ${listed} and ${more} more (docs/agent-config.md)`
    : `known here are ${listed}`
}

/** A plain map, as JSON and YAML make them. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Written)
}
