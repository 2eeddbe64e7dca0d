import { findNearest } from '../../base/values/nearest.ts'
import { parseDuration } from './duration.ts'
import { SourceScalar, toPlainValue } from './source-text.ts'

/** A position in a document: keys and list indexes from the root. */
export type Path = readonly (string | number)[]

/** One problem of a document; the message does not name the position. */
export interface ConfigProblem {
  path: Path
  message: string
}

/** Parses an untrusted value into `T`, adding a problem for whatever does not fit. */
export interface Shape<T> {
  read(value: unknown, path: Path, problems: ConfigProblem[]): T | undefined
}

/** The type a shape parses to. */
export type ShapeOutput<S> = S extends Shape<infer T> ? T : never

function reject(problems: ConfigProblem[], path: Path, message: string): undefined {
  problems.push({ path, message })
}

/** Describes a value in an error: its kind, never its content, which may be a secret. */
function describeKind(input: unknown): string {
  const value = toPlainValue(input)
  if (value === null || value === undefined) return 'nothing'
  if (Array.isArray(value)) return 'a list'
  if (typeof value === 'object') return 'a map'
  if (typeof value === 'boolean') return `the boolean ${value}`
  if (typeof value === 'number') return `the number ${value}`
  return 'a string'
}

const formatPath = (path: Path) => path.join('.').replace(/\.(\d+)(?=\.|$)/g, '[$1]')

/** A string; an unquoted number or boolean is accepted as written. */
export const text: Shape<string> = {
  read(value, path, problems) {
    if (typeof value === 'string') return value
    if (value instanceof SourceScalar) return value.source
    if (typeof value === 'number' || typeof value === 'bigint') return String(value)
    return reject(problems, path, `${formatPath(path)} must be a string, not ${describeKind(value)}`)
  },
}

/** A string of at most `maxBytes` bytes. */
export function shortText(maxBytes: number): Shape<string> {
  return {
    read(value, path, problems) {
      const parsed = text.read(value, path, problems)
      if (parsed === undefined || Buffer.byteLength(parsed) <= maxBytes) return parsed
      return reject(problems, path, `${formatPath(path)} must not be longer than ${maxBytes} bytes`)
    },
  }
}

const TRUE = /^(?:true|yes|on)$/i
const FALSE = /^(?:false|no|off)$/i

/** Parses a boolean, including the YAML 1.1 forms that are still in use. */
function parseSwitch(input: unknown): boolean | undefined {
  const value = toPlainValue(input)
  if (typeof value === 'boolean') return value
  if (typeof value !== 'string') return undefined
  return TRUE.test(value) ? true : FALSE.test(value) ? false : undefined
}

/** True or false, also as a string from the command line or the environment. */
export const flag: Shape<boolean> = {
  read(value, path, problems) {
    const parsed = parseSwitch(value)
    if (parsed !== undefined) return parsed
    return reject(problems, path, `${formatPath(path)} must be true or false, not ${describeKind(value)}`)
  },
}

/** True, false, or one word for neither. */
export function flagOr<const W extends string>(word: W): Shape<'true' | 'false' | W> {
  return {
    read(value, path, problems) {
      if (value === word) return word
      const parsed = parseSwitch(value)
      if (parsed !== undefined) return parsed ? 'true' : 'false'
      return reject(problems, path, `${formatPath(path)} must be true, false or ${word}, not ${quote(value)}`)
    },
  }
}

/** A string, or false for none; `kind` describes the string. */
export function textOrFalse(kind: string): Shape<string> {
  return {
    read(input, path, problems) {
      const value = input instanceof SourceScalar ? input.source : input
      if (value === false || (typeof value === 'string' && /^false$/i.test(value))) return 'false'
      if (value === true || (typeof value === 'string' && /^true$/i.test(value))) {
        return reject(problems, path, `${formatPath(path)} must be ${kind} or false, not true`)
      }
      return text.read(input, path, problems)
    },
  }
}

/** A number from `min` to `max`. */
export function number(min: number, max: number, integer = true): Shape<number> {
  return {
    read(input, path, problems) {
      const value = toPlainValue(input)
      const parsed = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
      const fits =
        typeof parsed === 'number' && parsed >= min && parsed <= max && (!integer || Number.isInteger(parsed))
      if (fits) return parsed
      const kind = integer ? 'a whole number' : 'a number'
      return reject(
        problems,
        path,
        `${formatPath(path)} must be ${kind} from ${min} to ${max}, not ${quote(Number.isNaN(parsed) ? value : parsed)}`,
      )
    },
  }
}

/** A duration such as `10s`, parsed to milliseconds; a bare number counts seconds, in quotes too. */
export const duration: Shape<number> = {
  read(input, path, problems) {
    const value = toPlainValue(input)
    const seconds = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
    const parsed = Number.isFinite(seconds) ? Number(seconds) * 1000 : parseDuration(String(value))
    if (parsed !== undefined && parsed >= 0) return parsed
    return reject(problems, path, `${formatPath(path)} must be a duration such as 10s or 1m30s`)
  },
}

/** A duration in seconds of at most this many. */
export function seconds(max: number): Shape<number> {
  return {
    read(input, path, problems) {
      const milliseconds = duration.read(input, path, problems)
      if (milliseconds === undefined || milliseconds <= max * 1000) return milliseconds && milliseconds / 1000
      return reject(problems, path, `${formatPath(path)} must be at most ${max}s`)
    },
  }
}

/** One of a few words, possibly the empty one; numbers and booleans match the word they are written as. */
export function choice<const W extends string>(...words: W[]): Shape<W> {
  const nonEmpty = words.filter((word) => word !== '')
  const allowed = nonEmpty.length < words.length ? [...nonEmpty, 'empty'] : nonEmpty
  const alternatives = allowed.length > 1 ? `one of ${allowed.join(', ')}` : allowed.join()
  return {
    read(value, path, problems) {
      const isScalar =
        value instanceof SourceScalar || typeof value === 'number' || typeof value === 'boolean'
      const word = isScalar ? String(value) : value
      const match = words.find((candidate) => candidate === word)
      if (match !== undefined) return match
      return reject(problems, path, `${formatPath(path)} must be ${alternatives}, not ${quote(value)}`)
    },
  }
}

function quote(value: unknown): string {
  return typeof value === 'string' ? JSON.stringify(value.slice(0, 60)) : describeKind(value)
}

/** A list; a single value is rejected. */
export function list<T>(item: Shape<T>): Shape<T[]> {
  return {
    read(value, path, problems) {
      if (!Array.isArray(value))
        return reject(problems, path, `${formatPath(path)} must be a list, not ${describeKind(value)}`)
      return value.flatMap((each, index) => item.read(each, [...path, index], problems) ?? [])
    },
  }
}

/** A string of comma-separated values, or a list of them. */
export const textOrList: Shape<string> = {
  read(value, path, problems) {
    if (!Array.isArray(value)) return text.read(value, path, problems)
    if (value.length === 0) return reject(problems, path, `${formatPath(path)} must not be an empty list`)
    return list(text).read(value, path, problems)?.join(',')
  },
}

/** A map with arbitrary keys. */
export function mapOf<T>(item: Shape<T>): Shape<Map<string, T>> {
  return {
    read(value, path, problems) {
      if (!isRecord(value))
        return reject(problems, path, `${formatPath(path)} must be a map, not ${describeKind(value)}`)
      const parsed = new Map<string, T>()
      for (const [key, each] of Object.entries(value)) {
        const entry = item.read(each, [...path, key], problems)
        if (entry !== undefined) parsed.set(key, entry)
      }
      return parsed
    },
  }
}

/** The fields of an object shape, all optional. */
export type ObjectFields<F extends Record<string, Shape<unknown>>> = { [K in keyof F]?: ShapeOutput<F[K]> }

/** An object shape that exposes its fields, so that other shapes can reuse them. */
export interface ObjectShape<F extends Record<string, Shape<unknown>>> extends Shape<ObjectFields<F>> {
  readonly fields: F
}

/** A map with fixed keys. An unknown key is rejected with the nearest valid one, or with `moved[key]` if it moved. */
export function object<F extends Record<string, Shape<unknown>>>(
  fields: F,
  moved: Readonly<Record<string, string>> = {},
): ObjectShape<F> {
  const shapes = new Map(Object.entries(fields))
  return {
    fields,
    read(value, path, problems) {
      if (value === null || value === undefined) return {}
      if (!isRecord(value)) {
        return reject(
          problems,
          path,
          `${formatPath(path) || 'the document'} must be a map, not ${describeKind(value)}`,
        )
      }
      const parsed: Record<string, unknown> = {}
      for (const [key, each] of Object.entries(value)) {
        const shape = shapes.get(key)
        const keyPath = [...path, key]
        if (!shape) {
          reject(
            problems,
            keyPath,
            `unknown key ${JSON.stringify(key.slice(0, 60))}; ${suggest(key, shapes, moved)}`,
          )
        } else if (each !== null && each !== undefined) {
          const field = shape.read(each, keyPath, problems)
          if (field !== undefined) parsed[key] = field
        }
      }
      return parsed as ObjectFields<F>
    },
  }
}

const MAX_LISTED_KEYS = 12

/** Suggests what to write instead of an unknown key: where it moved, the nearest key, or the valid keys. */
function suggest(
  key: string,
  shapes: ReadonlyMap<string, unknown>,
  moved: Readonly<Record<string, string>>,
): string {
  if (Object.hasOwn(moved, key)) return moved[key]!
  const nearestKey = findNearest(key, [...shapes.keys(), ...Object.keys(moved)])
  if (nearestKey !== undefined) {
    const suggestion = `did you mean ${JSON.stringify(nearestKey)}?`
    return shapes.has(nearestKey) ? suggestion : `${suggestion} ${moved[nearestKey]}`
  }
  const listed = [...shapes.keys()].slice(0, MAX_LISTED_KEYS).join(', ')
  const unlisted = shapes.size - MAX_LISTED_KEYS
  return unlisted > 0
    ? `valid keys are ${listed} and ${unlisted} more (docs/agent-config.md)`
    : `valid keys are ${listed}`
}

/** A plain map, as parsed from JSON or YAML. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return (
    typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof SourceScalar)
  )
}
