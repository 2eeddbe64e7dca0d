/** Levels as they are written: four letters, which programs that read our lines rely on. */
export type Level = 'dbug' | 'info' | 'warn' | 'eror' | 'crit'

/** One thing that happened; fields keep their order except in JSON. */
export interface Entry {
  time: Date
  level: Level
  message: string
  fields: Readonly<Record<string, unknown>>
}

export type LogFormat = 'term' | 'logfmt' | 'json'

/** The writer of one format; `term` has colours on a terminal and is logfmt everywhere else. */
export function formatter(format: LogFormat, colours: boolean): (entry: Entry) => string {
  if (format === 'json') return asJson
  return format === 'term' && colours ? asTerm : asLogfmt
}

function asLogfmt({ time, level, message, fields }: Entry): string {
  return `t=${offsetTime(time)} lvl=${level} msg=${quoted(message)}${pairs(fields)}\n`
}

const COLOURS: Record<Level, number> = { dbug: 36, info: 32, warn: 33, eror: 31, crit: 35 }

function asTerm({ time, level, message, fields }: Entry): string {
  const clock = `${two(time.getMonth() + 1)}-${two(time.getDate())}|${time.toTimeString().slice(0, 8)}`
  return `\u001b[${COLOURS[level]}m${level.toUpperCase()}\u001b[0m[${clock}] ${printable(message).padEnd(40)}${pairs(fields)}\n`
}

function asJson({ time, level, message, fields }: Entry): string {
  const all: Record<string, unknown> = { ...fields, t: preciseTime(time), lvl: level, msg: message }
  const sorted = Object.fromEntries(
    Object.keys(all)
      .sort()
      .map((key) => [key, all[key] instanceof Error ? (all[key] as Error).message : all[key]]),
  )
  return `${JSON.stringify(sorted)}\n`
}

function pairs(fields: Readonly<Record<string, unknown>>): string {
  let text = ''
  for (const [key, value] of Object.entries(fields)) text += ` ${key}=${quoted(show(value))}`
  return text
}

function show(value: unknown): string {
  if (value === undefined || value === null) return 'nil'
  if (value instanceof Error) return value.message
  if (Array.isArray(value)) return `[${value.map(show).join(' ')}]`
  return typeof value === 'object' && value.toString === Object.prototype.toString
    ? JSON.stringify(value)
    : String(value)
}

/** Values come from visitors as well: quotes keep one line one line, escapes keep the terminal safe. */
function quoted(text: string): string {
  return /^[^\s"=\u0000-\u001f\u007f-\u009f]+$/.test(text)
    ? text
    : `"${printable(text.replace(/["\\]/g, '\\$&'))}"`
}

function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, (c) =>
    c === '\n'
      ? '\\n'
      : c === '\t'
        ? '\\t'
        : c === '\r'
          ? '\\r'
          : `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
}

const two = (value: number) => String(value).padStart(2, '0')

function offset(time: Date, colon: string): string {
  const minutes = -time.getTimezoneOffset()
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${two(Math.floor(size / 60))}${colon}${two(size % 60)}`
}

function localTime(time: Date): string {
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}T${time.toTimeString().slice(0, 8)}`
}

const offsetTime = (time: Date) => `${localTime(time)}${offset(time, '')}`

/** RFC 3339 in local time with nanosecond digits, the form of JSON lines. */
function preciseTime(time: Date): string {
  return `${localTime(time)}.${String(time.getMilliseconds()).padStart(3, '0')}000000${offset(time, ':')}`
}

/** RFC 3339 in local time with its offset, the form of `start` in the local API. */
export function rfc3339(time: Date): string {
  return `${localTime(time)}.${String(time.getMilliseconds()).padStart(3, '0')}${offset(time, ':')}`
}
