import type { CaptureView } from '../../../agent/local-api/page-data.ts'
import { stripPort } from '../../shared/units.ts'

/** Whether a capture matches; `needs body` if that depends on bodies that are not loaded. */
export type QueryMatch = 'yes' | 'no' | 'needs body'

/** A parsed search; a capture must match every term. */
export interface Query {
  /** Matches a capture; `bodies` is the text of both bodies in lower case, if loaded. */
  match(capture: CaptureView, bodies: string | undefined): QueryMatch
  /** True if the result may depend on bodies. */
  readonly needsBodies: boolean
  /** Why a term is invalid. */
  readonly problem: string | undefined
}

type QueryTest = (capture: CaptureView, bodies: string | undefined) => QueryMatch
type Predicate = (capture: CaptureView) => boolean

const TERM = /(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/gi
const FIELDS = 'path, method, status, header, body, ip, tunnel, duration, size'

/** Parses a search: words, "quoted phrases", `field:value`, and a minus to exclude a term. */
export function parseQuery(text: string): Query {
  const tests: QueryTest[] = []
  let needsBodies = false
  let problem: string | undefined
  for (const [term, minus, field = '', quoted, unquoted] of text.trim().matchAll(TERM)) {
    const fieldResult = fieldTest(field.toLowerCase(), (quoted ?? unquoted ?? '').toLowerCase())
    // A word that contains a colon (a URL, a time) is a plain word.
    const word = minus ? term.slice(1) : term
    const test = fieldResult === 'unknown' ? wordTest(word.replaceAll('"', '').toLowerCase()) : fieldResult
    if (typeof test === 'string') problem = test
    else {
      needsBodies ||= test.bodies
      tests.push(minus ? negate(test.run) : test.run)
    }
  }
  return {
    needsBodies,
    problem,
    match(capture, bodies) {
      let result: QueryMatch = 'yes'
      for (const test of tests) {
        const match = test(capture, bodies)
        if (match === 'no') return 'no'
        if (match === 'needs body') result = match
      }
      return result
    },
  }
}

function fieldTest(field: string, value: string): { run: QueryTest; bodies: boolean } | 'unknown' | string {
  switch (field) {
    case '':
      return wordTest(value)
    case 'path':
      return predicateTest((capture) => capture.request.uri.toLowerCase().includes(value))
    case 'method':
      return predicateTest((capture) => capture.request.method.toLowerCase() === value)
    case 'ip':
      return predicateTest((capture) => stripPort(capture.remote_addr).startsWith(value))
    case 'tunnel':
      return predicateTest((capture) => capture.tunnel_name.toLowerCase().includes(value))
    case 'header':
      return predicateTest((capture) => headerText(capture).includes(value.replace('=', ': ')))
    case 'body':
      return { run: bodyTest(value), bodies: true }
    case 'status':
      return statusTest(value)
    case 'duration':
      return comparisonTest(value, DURATIONS, 'duration:>250ms', (capture) => capture.duration / 1e6)
    case 'size':
      return comparisonTest(value, SIZES, 'size:>10kB', (capture) => capture.response?.body_size ?? 0)
    default:
      return 'unknown'
  }
}

const predicateTest = (predicate: Predicate) => ({
  bodies: false,
  run: (capture: CaptureView): QueryMatch => (predicate(capture) ? 'yes' : 'no'),
})

const bodyTest =
  (value: string): QueryTest =>
  (_capture, bodies) =>
    bodies === undefined ? 'needs body' : bodies.includes(value) ? 'yes' : 'no'

function wordTest(value: string): { run: QueryTest; bodies: boolean } {
  const inBody = bodyTest(value)
  return {
    // Almost every body contains a single letter: not worth loading them.
    bodies: value.length > 1,
    run: (capture, bodies) => {
      if (lineText(capture).includes(value) || headerText(capture).includes(value)) return 'yes'
      return value.length > 1 ? inBody(capture, bodies) : 'no'
    },
  }
}

const negate =
  (test: QueryTest): QueryTest =>
  (capture, bodies) => {
    const match = test(capture, bodies)
    return match === 'yes' ? 'no' : match === 'no' ? 'yes' : match
  }

function statusTest(value: string) {
  const family = /^([1-5])(?:xx|\*)$/.exec(value)
  if (family) return predicateTest((capture) => Math.floor(statusOf(capture) / 100) === Number(family[1]))
  if (/^\d{1,3}$/.test(value)) return predicateTest((capture) => String(statusOf(capture)).startsWith(value))
  if (value === 'error') return predicateTest((capture) => capture.error !== undefined)
  return comparisonTest(value, { '': 1 }, 'status:404, status:4xx, status:>=500 or status:error', statusOf)
}

const statusOf = (capture: CaptureView) => capture.response?.status_code ?? 0

const DURATIONS = { '': 1, ms: 1, s: 1000, m: 60_000, us: 0.001 }
const SIZES = { '': 1, b: 1, k: 1e3, kb: 1e3, m: 1e6, mb: 1e6 }

function comparisonTest(
  value: string,
  units: Readonly<Record<string, number>>,
  example: string,
  getValue: (capture: CaptureView) => number,
) {
  const [, sign, number, unit = ''] = /^(<=|>=|<|>|=)?(\d+(?:\.\d+)?)([a-z]*)$/.exec(value) ?? []
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined
  if (number === undefined || factor === undefined)
    return `Invalid value "${value}"; for example: ${example}.`
  const limit = Number(number) * factor
  if (sign === '<') return predicateTest((capture) => getValue(capture) < limit)
  if (sign === '<=') return predicateTest((capture) => getValue(capture) <= limit)
  if (sign === '=') return predicateTest((capture) => getValue(capture) === limit)
  if (sign === '>') return predicateTest((capture) => getValue(capture) > limit)
  return predicateTest((capture) => getValue(capture) >= limit)
}

const lines = new WeakMap<CaptureView, string>()
const headers = new WeakMap<CaptureView, string>()

function lineText(capture: CaptureView): string {
  return memoize(lines, capture, () =>
    `${capture.request.method} ${capture.request.uri} ${capture.response?.status ?? ''} ${stripPort(capture.remote_addr)}`.toLowerCase(),
  )
}

function headerText(capture: CaptureView): string {
  return memoize(headers, capture, () => {
    let text = ''
    for (const message of [capture.request, capture.response]) {
      for (const [name, values] of Object.entries(message?.headers ?? {}))
        for (const value of values) text += `${name}: ${value}\n`
    }
    return text.toLowerCase()
  })
}

function memoize(cache: WeakMap<CaptureView, string>, capture: CaptureView, compute: () => string): string {
  const cached = cache.get(capture)
  if (cached !== undefined) return cached
  const text = compute()
  cache.set(capture, text)
  return text
}

/** The fields of a search, for display. */
export const QUERY_FIELDS = FIELDS
