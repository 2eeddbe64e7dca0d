/** Level tags have four letters; programs that parse the log rely on them. */
export type LevelTag = 'dbug' | 'info' | 'warn' | 'eror' | 'crit'

/** One log entry; fields keep their order except in JSON. */
export interface LogEntry {
  time: Date
  level: LevelTag
  message: string
  fields: Readonly<Record<string, unknown>>
}

export type LogFormat = 'term' | 'logfmt' | 'json'

/** Returns the formatter; `term` is coloured on a terminal and logfmt elsewhere. */
export function createFormatter(format: LogFormat, colours: boolean): (entry: LogEntry) => string {
  if (format === 'json') return formatJson
  return format === 'term' && colours ? formatTerm : formatLogfmt
}

function formatLogfmt({ time, level, message, fields }: LogEntry): string {
  return `t=${formatTime(time)} lvl=${level} msg=${quote(message)}${formatFields(fields)}\n`
}

const COLOURS: Record<LevelTag, number> = { dbug: 36, info: 32, warn: 33, eror: 31, crit: 35 }

function formatTerm({ time, level, message, fields }: LogEntry): string {
  const clock = `${padTwo(time.getMonth() + 1)}-${padTwo(time.getDate())}|${time.toTimeString().slice(0, 8)}`
  return `\u001b[${COLOURS[level]}m${level.toUpperCase()}\u001b[0m[${clock}] ${escapeControls(message).padEnd(40)}${formatFields(fields)}\n`
}

function formatJson({ time, level, message, fields }: LogEntry): string {
  const all: Record<string, unknown> = { ...fields, t: formatPreciseTime(time), lvl: level, msg: message }
  const sorted = Object.fromEntries(
    Object.keys(all)
      .sort()
      .map((key) => [key, all[key] instanceof Error ? (all[key] as Error).message : all[key]]),
  )
  return `${JSON.stringify(sorted)}\n`
}

function formatFields(fields: Readonly<Record<string, unknown>>): string {
  let text = ''
  for (const [key, value] of Object.entries(fields)) text += ` ${key}=${quote(formatValue(value))}`
  return text
}

function formatValue(value: unknown): string {
  if (value === undefined || value === null) return 'nil'
  if (value instanceof Error) return value.message
  if (Array.isArray(value)) return `[${value.map(formatValue).join(' ')}]`
  return typeof value === 'object' && value.toString === Object.prototype.toString
    ? JSON.stringify(value)
    : String(value)
}

/** Values may come from clients: quoting keeps an entry on one line, escaping protects the terminal. */
function quote(text: string): string {
  return /^[^\s"=\u0000-\u001f\u007f-\u009f]+$/.test(text)
    ? text
    : `"${escapeControls(text.replace(/["\\]/g, '\\$&'))}"`
}

function escapeControls(text: string): string {
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

const padTwo = (value: number) => String(value).padStart(2, '0')

function formatOffset(time: Date, colon: string): string {
  const minutes = -time.getTimezoneOffset()
  const size = Math.abs(minutes)
  return `${minutes < 0 ? '-' : '+'}${padTwo(Math.floor(size / 60))}${colon}${padTwo(size % 60)}`
}

function formatLocalTime(time: Date): string {
  return `${time.getFullYear()}-${padTwo(time.getMonth() + 1)}-${padTwo(time.getDate())}T${time.toTimeString().slice(0, 8)}`
}

const formatTime = (time: Date) => `${formatLocalTime(time)}${formatOffset(time, '')}`

/** RFC 3339 in local time with nanosecond digits, for JSON lines. */
function formatPreciseTime(time: Date): string {
  return `${formatLocalTime(time)}.${String(time.getMilliseconds()).padStart(3, '0')}000000${formatOffset(time, ':')}`
}

/** RFC 3339 in local time with offset, for `start` in the local API. */
export function formatRfc3339(time: Date): string {
  return `${formatLocalTime(time)}.${String(time.getMilliseconds()).padStart(3, '0')}${formatOffset(time, ':')}`
}
