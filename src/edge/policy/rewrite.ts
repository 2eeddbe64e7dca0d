import { compileLinearRegex, type LinearRegex, SearchTooLong } from '../../base/linear-pattern.ts'
import {
  type Activation,
  type PatternTemplate,
  requestUrl,
  type Template,
  urlText,
} from '../../policy/index.ts'
import type { RequestExecution } from './execution.ts'
import { PolicyFailure } from './failure.ts'

/** The compiled pattern, with its `${}` evaluated before. */
function patternOf({ regex, template }: PatternTemplate, activation: Activation): LinearRegex {
  if (regex !== undefined) return regex
  try {
    return compileLinearRegex(template.evaluate(activation))
  } catch (error) {
    if (error instanceof Error && error.constructor === Error)
      throw new PolicyFailure(`the pattern of "from" is not valid: ${error.message}`)
    throw error
  }
}

/** The URL of a request with each match of `from` replaced, or `to` alone; `matches` is what `from` matched. */
export function rewriteUrl(
  execution: RequestExecution,
  { from, to }: { readonly from?: PatternTemplate | undefined; readonly to: Template },
): { url: string; text: string; matches: string[] } {
  const url = urlText(requestUrl(execution))
  const target = to.evaluate(execution)
  return from === undefined
    ? { url, text: target, matches: [url] }
    : { url, ...replaceAll(url, patternOf(from, execution), target) }
}

/** Replaces every match in a text; `$1` and `${name}` stand for groups, `$$` for a dollar sign. */
export function replaceAll(
  text: string,
  regex: LinearRegex,
  replacement: string,
): { text: string; matches: string[] } {
  const matches: string[] = []
  let result = ''
  let position = 0
  try {
    for (let from = 0; from <= text.length; ) {
      const match = regex.exec(text, from)
      if (match === undefined) break
      matches.push(match.groups[0]!)
      result += text.slice(position, match.start) + expand(replacement, match.groups, regex.groupNames)
      position = match.end
      from = match.end > match.start ? match.end : match.end + 1
    }
  } catch (error) {
    if (error instanceof SearchTooLong) throw new PolicyFailure(error.message)
    throw error
  }
  return { text: result + text.slice(position), matches }
}

const REFERENCE = /\$(?:\$|(\d{1,2})|(\w+)|\{(\w+)\})/g

function expand(
  replacement: string,
  groups: readonly (string | undefined)[],
  names: ReadonlyMap<string, number>,
): string {
  if (!replacement.includes('$')) return replacement
  return replacement.replace(REFERENCE, (reference, digits, word, braced) => {
    if (reference === '$$') return '$'
    const name = digits ?? word ?? braced
    const index = /^\d+$/.test(name) ? Number(name) : names.get(name)
    return index === undefined ? '' : (groups[index] ?? '')
  })
}
