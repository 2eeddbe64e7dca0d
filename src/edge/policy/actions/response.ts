import { isJson } from '../../../base/text/is-json.ts'
import type { Activation, Template } from '../../../policy/index.ts'
import { PolicyFailure } from '../../contracts/policy-failure.ts'
import { fieldLine } from '../../message/field-values.ts'
import { MAX_RESPONSE_HEAD_BYTES } from '../../message/response-head.ts'

/** Fails for a head that is longer than one of an upstream may be: what visitors do not take of it takes memory. */
export function requireHeadLength(length: number): void {
  if (length > MAX_RESPONSE_HEAD_BYTES)
    throw new PolicyFailure(
      `the header fields become longer than the ${MAX_RESPONSE_HEAD_BYTES / 1024} KiB that a message may have`,
    )
}

/** Header templates as field lines. */
export function renderFields(
  headers: readonly (readonly [name: string, value: Template])[],
  activation: Activation,
): string {
  let fields = ''
  for (const [name, value] of headers) {
    const line = fieldLine(name, value.evaluate(activation))
    if (line === undefined) throw new PolicyFailure(`the value of ${name} cannot be sent in a header`)
    fields += line
  }
  requireHeadLength(fields.length)
  return fields
}

/** White space that may come before the first character that tells the type. */
const MAX_INDENT = 256

/** The content type of a body without one: HTML if it looks like it, JSON if it is, else plain text. */
export function guessContentType(body: string): string {
  const start = body.slice(0, MAX_INDENT).replace(/^\s+/, '').slice(0, 15).toLowerCase()
  if (start.startsWith('<!doctype html') || start.startsWith('<html')) return 'text/html; charset=utf-8'
  if (/^[{["]/.test(start) && isJson(body)) return 'application/json'
  return 'text/plain; charset=utf-8'
}
