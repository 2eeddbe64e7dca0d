import { isJson } from '../../../base/is-json.ts'
import type { Activation, Template } from '../../../policy/index.ts'
import { fieldLine } from '../../message/own-fields.ts'
import { PolicyFailure } from '../failure.ts'

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
