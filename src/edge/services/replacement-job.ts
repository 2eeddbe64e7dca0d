import { isUtf8 } from 'node:buffer'
import { brotliDecompressSync, gunzipSync, inflateSync, zstdDecompressSync } from 'node:zlib'
import {
  type ChargeSteps,
  compileLinearRegex,
  createSearchBudget,
} from '../../base/pattern/linear-pattern.ts'
import { type Replacement, replaceAll } from './replace-text.ts'

/** The largest body in which text is replaced, before and after, decoded. */
export const MAX_REPLACED_BYTES = 1024 * 1024
/** Matches that are reported. */
const MAX_REPORTED = 100
const MAX_REPORTED_LENGTH = 1024
/** What the replacements of one action may cost together: less than a second. The pool ends jobs that take longer. */
export const MAX_REPLACEMENT_WORK = 8_000_000
/** Characters that the engine's own search for a text passes in the time of a step. */
const LITERAL_SPEED = 16

/** Replaces text in a body, off the event loop. */
export interface ReplacementJob {
  readonly body: Uint8Array
  /** The content coding of the body, '' for none. */
  readonly coding: string
  /** Applied one after the other. */
  readonly replacements: readonly { readonly from: string; readonly to: string }[]
  readonly maxWork: number
}

/** What the replacement of this number has replaced. */
export interface ReplacementMatch {
  readonly index: number
  readonly content: string
}

/** Undefined when the body stays as it is: nothing matches, or it is no text that can be read. */
export type ReplacementResult =
  | { readonly body: Uint8Array; readonly matches: readonly ReplacementMatch[] }
  | undefined

const DECODERS: Readonly<
  Record<string, (bytes: Uint8Array, options: { maxOutputLength: number }) => Buffer>
> = {
  '': (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  identity: (bytes) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength),
  gzip: gunzipSync,
  'x-gzip': gunzipSync,
  deflate: inflateSync,
  br: brotliDecompressSync,
  zstd: zstdDecompressSync,
}

/** Whether bodies of this coding can be read. */
export const isReadableCoding = (coding: string): boolean => Object.hasOwn(DECODERS, coding)

/** Throws a sentence when the body cannot be decoded or becomes too large. */
export function runReplacementJob({
  body,
  coding,
  replacements,
  maxWork,
}: ReplacementJob): ReplacementResult {
  const decoded = decode(body, coding)
  if (!isUtf8(decoded)) return undefined
  let text = decoded.toString()
  const matches: ReplacementMatch[] = []
  const budget = createSearchBudget(maxWork)
  for (const [index, { from, to }] of replacements.entries()) {
    const regex = literalRegex(from) ?? compileLinearRegex(from, budget)
    const replaced = replaceAll(text, { regex, to }, budget)
    text = replaced.text
    if (text.length > MAX_REPLACED_BYTES) throw new Error('the replaced body is too large')
    for (const content of replaced.matches.slice(0, MAX_REPORTED - matches.length))
      matches.push({ index, content: content.slice(0, MAX_REPORTED_LENGTH) })
  }
  return matches.length === 0 ? undefined : { body: Buffer.from(text), matches }
}

function decode(body: Uint8Array, coding: string): Buffer {
  try {
    return DECODERS[coding]!(body, { maxOutputLength: MAX_REPLACED_BYTES })
  } catch {
    throw new Error(`the body cannot be decoded from ${coding}, or is too large`)
  }
}

/** A pattern without operators is found much faster by itself (decision 151). */
function literalRegex(source: string): Replacement['regex'] | undefined {
  if (!/^(?:[^\\^$.|?*+()[\]{}]|\\[^\w\s])+$/.test(source)) return undefined
  const literal = source.replace(/\\(.)/g, '$1')
  return {
    groupNames: new Map(),
    exec(text: string, from: number, charge: ChargeSteps) {
      const start = text.indexOf(literal, from)
      charge(((start === -1 ? text.length : start) - from) / LITERAL_SPEED)
      return start === -1 ? undefined : { start, end: start + literal.length, groups: [literal] }
    },
  }
}
