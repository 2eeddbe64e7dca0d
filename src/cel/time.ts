import { Duration, EvaluationError, Timestamp } from './values.ts'

export const NANOS = 1_000_000_000n

const MIN_TIMESTAMP = BigInt(Date.parse('0001-01-01T00:00:00Z')) * 1_000_000n
const MAX_TIMESTAMP = BigInt(Date.parse('9999-12-31T23:59:59Z')) * 1_000_000n + (NANOS - 1n)

/** 64 bits of nanoseconds: about 292 years. */
const MAX_DURATION = 2n ** 63n - 1n

/** The moment. Throws when it is not in the years 1 to 9999. */
export function toTimestamp(nanos: bigint): Timestamp {
  if (nanos < MIN_TIMESTAMP || nanos > MAX_TIMESTAMP) throw new EvaluationError('timestamp out of range')
  return new Timestamp(nanos)
}

/** The span of time. Throws when it is longer than 292 years. */
export function toDuration(nanos: bigint): Duration {
  if (nanos > MAX_DURATION || nanos < -MAX_DURATION) throw new EvaluationError('duration out of range')
  return new Duration(nanos)
}

const RFC_3339 = /^(\d{4}-\d{2}-\d{2})[Tt](\d{2}:\d{2}:\d{2})(?:\.(\d{1,9})\d*)?([Zz]|[+-]\d{2}:\d{2})$/

/** Parses RFC 3339. Throws `EvaluationError`. */
export function parseTimestamp(text: string): Timestamp {
  const match = RFC_3339.exec(text)
  const millis = match === null ? Number.NaN : Date.parse(`${match[1]}T${match[2]}${match[4]!.toUpperCase()}`)
  if (match === null || Number.isNaN(millis) || !isCalendarDate(match[1]!))
    throw new EvaluationError(`${JSON.stringify(text.slice(0, 80))} is not a timestamp (out of range)`)
  return toTimestamp(BigInt(millis) * 1_000_000n + BigInt((match[3] ?? '').padEnd(9, '0')))
}

/** JavaScript reads 30 February as 2 March. */
function isCalendarDate(date: string): boolean {
  return new Date(`${date}T00:00:00Z`).toISOString().startsWith(date)
}

export function timestampText({ nanos }: Timestamp): string {
  const seconds = floorDivide(nanos, NANOS)
  const text = new Date(Number(seconds) * 1000).toISOString().slice(0, 19)
  return `${text}${fractionText(nanos - seconds * NANOS)}Z`
}

export function durationText({ nanos }: Duration): string {
  const magnitude = nanos < 0n ? -nanos : nanos
  return `${nanos < 0n ? '-' : ''}${magnitude / NANOS}${fractionText(magnitude % NANOS)}s`
}

function fractionText(nanos: bigint): string {
  return nanos === 0n
    ? ''
    : `.${String(nanos)
        .padStart(9, '0')
        .replace(/0{1,8}$/, '')}`
}

export function floorDivide(value: bigint, divisor: bigint): bigint {
  return value >= 0n || value % divisor === 0n ? value / divisor : value / divisor - 1n
}

const UNITS: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1000n],
  ['µs', 1000n],
  ['μs', 1000n],
  ['ms', 1_000_000n],
  ['s', NANOS],
  ['m', 60n * NANOS],
  ['h', 3600n * NANOS],
])

const DURATION = /^[+-]?(?:\d+(?:\.\d*)?(?:ns|us|µs|μs|ms|s|m|h)|\.\d+(?:ns|us|µs|μs|ms|s|m|h))+$/
const DURATION_PART = /(\d*)(?:\.(\d*))?(ns|us|µs|μs|ms|s|m|h)/gy
const MAX_DURATION_TEXT = 100

/** Parses a duration such as `1h30m` or `-1.5s`. Throws `EvaluationError`. */
export function parseDuration(text: string): Duration {
  const plain = /^[+-]?0$/.test(text)
  if (text.length > MAX_DURATION_TEXT || (!plain && !DURATION.test(text)))
    throw new EvaluationError(`${JSON.stringify(text.slice(0, 80))} is not a duration`)
  let nanos = 0n
  for (const [, whole = '', fraction = '', unit = ''] of text.replace(/^[+-]/, '').matchAll(DURATION_PART)) {
    const size = UNITS.get(unit)!
    nanos += BigInt(whole || '0') * size + (BigInt(fraction || '0') * size) / 10n ** BigInt(fraction.length)
  }
  return toDuration(text.startsWith('-') ? -nanos : nanos)
}

/** The parts of a moment as clocks and calendars of a time zone show them. Months and days of the year count from 0. */
export interface LocalTime {
  readonly year: number
  readonly month: number
  readonly day: number
  readonly weekday: number
  readonly dayOfYear: number
  readonly hours: number
  readonly minutes: number
  readonly seconds: number
  readonly millis: number
}

const FIXED_OFFSET = /^([+-]?)(\d{2}):(\d{2})$/

/** The local time in a zone such as `Europe/Berlin`, `+02:00` or `UTC`. Throws for a zone that is not known. */
export function localTime({ nanos }: Timestamp, zone: string): LocalTime {
  const millis = Number(floorDivide(nanos, 1_000_000n))
  const local = new Date(millis + offsetMillis(millis, zone))
  const yearStart = new Date(0)
  yearStart.setUTCFullYear(local.getUTCFullYear(), 0, 1)
  return {
    year: local.getUTCFullYear(),
    month: local.getUTCMonth(),
    day: local.getUTCDate(),
    weekday: local.getUTCDay(),
    dayOfYear: Math.floor((local.getTime() - yearStart.getTime()) / 86_400_000),
    hours: local.getUTCHours(),
    minutes: local.getUTCMinutes(),
    seconds: local.getUTCSeconds(),
    millis: local.getUTCMilliseconds(),
  }
}

function offsetMillis(millis: number, zone: string): number {
  const fixed = FIXED_OFFSET.exec(zone)
  if (fixed !== null) {
    const minutes = Number(fixed[2]) * 60 + Number(fixed[3])
    return (fixed[1] === '-' ? -minutes : minutes) * 60_000
  }
  if (zone === 'UTC' || zone === '') return 0
  const parts = formatterOf(zone).formatToParts(millis)
  const part = (type: string) => Number(parts.find((candidate) => candidate.type === type)!.value)
  const era = parts.find(({ type }) => type === 'era')!.value
  const year = era.startsWith('B') ? 1 - part('year') : part('year')
  const local = new Date(0)
  local.setUTCFullYear(year, part('month') - 1, part('day'))
  local.setUTCHours(part('hour'), part('minute'), part('second'))
  return local.getTime() - Math.floor(millis / 1000) * 1000
}

/** Making one takes as long as a thousand evaluations. Expressions can name some hundred zones at most. */
const formatters = new Map<string, Intl.DateTimeFormat>()
const MAX_ZONE_LENGTH = 64

/** Whether local times in a zone are cheap by now. */
export function isZoneLoaded(zone: string): boolean {
  return formatters.has(zone) || FIXED_OFFSET.test(zone) || zone === 'UTC'
}

function formatterOf(zone: string): Intl.DateTimeFormat {
  const existing = formatters.get(zone)
  if (existing !== undefined) return existing
  if (zone.length > MAX_ZONE_LENGTH || !/^[A-Za-z]/.test(zone)) throw unknownZone(zone)
  let formatter: Intl.DateTimeFormat
  try {
    formatter = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      hourCycle: 'h23',
      era: 'short',
      year: 'numeric',
      month: 'numeric',
      day: 'numeric',
      hour: 'numeric',
      minute: 'numeric',
      second: 'numeric',
    })
  } catch {
    throw unknownZone(zone)
  }
  // One spelling of each zone is kept, so that tenants cannot fill the memory with variations of capital letters.
  const canonical = formatter.resolvedOptions().timeZone
  const canonicalFormatter = formatters.get(canonical) ?? formatter
  formatters.set(canonical, canonicalFormatter)
  return canonicalFormatter
}

const unknownZone = (zone: string) =>
  new EvaluationError(`there is no time zone ${JSON.stringify(zone.slice(0, MAX_ZONE_LENGTH))}`)
