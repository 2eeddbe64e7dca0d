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
import { replaceAll } from './replace-text.ts'

/** The compiled pattern, with its `${}` evaluated before. */
export function patternOf({ regex, template }: PatternTemplate, activation: Activation): LinearRegex {
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
    : { url, ...replace(url, patternOf(from, execution), target) }
}

function replace(text: string, regex: LinearRegex, replacement: string) {
  try {
    return replaceAll(text, regex, replacement)
  } catch (error) {
    if (error instanceof SearchTooLong) throw new PolicyFailure(error.message)
    throw error
  }
}
