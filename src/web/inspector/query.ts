import { ipOf } from '../shared/units.ts'
import type { Capture } from './api.ts'

/** What a search says of one capture; `needs body` when only the bodies can tell. */
export type Verdict = 'yes' | 'no' | 'needs body'

/** A search that was understood: each term must hold. */
export interface Query {
  /** Judges a capture; `bodies` is the text of both bodies in lower case, when it has been loaded. */
  judge(capture: Capture, bodies: string | undefined): Verdict
  /** True when bodies may decide. */
  readonly wantsBodies: boolean
  /** What could not be understood, in a sentence. */
  readonly problem: string | undefined
}

type Test = (capture: Capture, bodies: string | undefined) => Verdict
type Plain = (capture: Capture) => boolean

const TERM = /(-?)(?:([a-z]+):)?(?:"([^"]*)"?|(\S+))/gi
const FIELDS = 'path, method, status, header, body, ip, tunnel, duration, size'

/** Reads a search: words, "quoted words", `field:value`, and a minus before what must not hold. */
export function parseQuery(text: string): Query {
  const tests: Test[] = []
  let wantsBodies = false
  let problem: string | undefined
  for (const [whole, minus, field = '', quoted, bare] of text.trim().matchAll(TERM)) {
    const known = fieldTest(field.toLowerCase(), (quoted ?? bare ?? '').toLowerCase())
    // A word with a colon in it (a URL, a time) is just a word.
    const word = minus ? whole.slice(1) : whole
    const test = known === 'unknown' ? wordTest(word.replaceAll('"', '').toLowerCase()) : known
    if (typeof test === 'string') problem = test
    else {
      wantsBodies ||= test.bodies
      tests.push(minus ? negate(test.run) : test.run)
    }
  }
  return {
    wantsBodies,
    problem,
    judge(capture, bodies) {
      let verdict: Verdict = 'yes'
      for (const test of tests) {
        const one = test(capture, bodies)
        if (one === 'no') return 'no'
        if (one === 'needs body') verdict = one
      }
      return verdict
    },
  }
}

function fieldTest(field: string, value: string): { run: Test; bodies: boolean } | 'unknown' | string {
  switch (field) {
    case '':
      return wordTest(value)
    case 'path':
      return plain((capture) => capture.request.uri.toLowerCase().includes(value))
    case 'method':
      return plain((capture) => capture.request.method.toLowerCase() === value)
    case 'ip':
      return plain((capture) => ipOf(capture.remote_addr).startsWith(value))
    case 'tunnel':
      return plain((capture) => capture.tunnel_name.toLowerCase().includes(value))
    case 'header':
      return plain((capture) => headerText(capture).includes(value.replace('=', ': ')))
    case 'body':
      return { run: bodyTest(value), bodies: true }
    case 'status':
      return statusTest(value)
    case 'duration':
      return compared(value, DURATIONS, 'duration:>250ms', (capture) => capture.duration / 1e6)
    case 'size':
      return compared(value, SIZES, 'size:>10kB', (capture) => capture.response?.body_size ?? 0)
    default:
      return 'unknown'
  }
}

const plain = (holds: Plain) => ({
  bodies: false,
  run: (capture: Capture): Verdict => (holds(capture) ? 'yes' : 'no'),
})

const bodyTest =
  (value: string): Test =>
  (_capture, bodies) =>
    bodies === undefined ? 'needs body' : bodies.includes(value) ? 'yes' : 'no'

function wordTest(value: string): { run: Test; bodies: boolean } {
  const inBody = bodyTest(value)
  return {
    // One letter is in nearly every body: not worth loading them for.
    bodies: value.length > 1,
    run: (capture, bodies) => {
      if (lineText(capture).includes(value) || headerText(capture).includes(value)) return 'yes'
      return value.length > 1 ? inBody(capture, bodies) : 'no'
    },
  }
}

const negate =
  (test: Test): Test =>
  (capture, bodies) => {
    const verdict = test(capture, bodies)
    return verdict === 'yes' ? 'no' : verdict === 'no' ? 'yes' : verdict
  }

function statusTest(value: string) {
  const family = /^([1-5])(?:xx|\*)$/.exec(value)
  if (family) return plain((capture) => Math.floor(statusOf(capture) / 100) === Number(family[1]))
  if (/^\d{1,3}$/.test(value)) return plain((capture) => String(statusOf(capture)).startsWith(value))
  if (value === 'error') return plain((capture) => capture.error !== undefined)
  return compared(value, { '': 1 }, 'status:404, status:4xx, status:>=500 or status:error', statusOf)
}

const statusOf = (capture: Capture) => capture.response?.status_code ?? 0

const DURATIONS = { '': 1, ms: 1, s: 1000, m: 60_000, us: 0.001 }
const SIZES = { '': 1, b: 1, k: 1e3, kb: 1e3, m: 1e6, mb: 1e6 }

function compared(
  value: string,
  units: Readonly<Record<string, number>>,
  example: string,
  of: (capture: Capture) => number,
) {
  const [, sign, number, unit = ''] = /^(<=|>=|<|>|=)?(\d+(?:\.\d+)?)([a-z]*)$/.exec(value) ?? []
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined
  if (number === undefined || factor === undefined) return `"${value}" is not understood; write ${example}.`
  const limit = Number(number) * factor
  if (sign === '<') return plain((capture) => of(capture) < limit)
  if (sign === '<=') return plain((capture) => of(capture) <= limit)
  if (sign === '=') return plain((capture) => of(capture) === limit)
  if (sign === '>') return plain((capture) => of(capture) > limit)
  return plain((capture) => of(capture) >= limit)
}

const lines = new WeakMap<Capture, string>()
const headers = new WeakMap<Capture, string>()

function lineText(capture: Capture): string {
  return remember(lines, capture, () =>
    `${capture.request.method} ${capture.request.uri} ${capture.response?.status ?? ''} ${ipOf(capture.remote_addr)}`.toLowerCase(),
  )
}

function headerText(capture: Capture): string {
  return remember(headers, capture, () => {
    let text = ''
    for (const message of [capture.request, capture.response]) {
      for (const [name, values] of Object.entries(message?.headers ?? {}))
        for (const value of values) text += `${name}: ${value}\n`
    }
    return text.toLowerCase()
  })
}

function remember(memory: WeakMap<Capture, string>, capture: Capture, make: () => string): string {
  const known = memory.get(capture)
  if (known !== undefined) return known
  const made = make()
  memory.set(capture, made)
  return made
}

/** The fields a search may name, for people. */
export const QUERY_FIELDS = FIELDS
