import {
  type ChargeSteps,
  compileLinearRegex,
  type LinearRegex,
  SearchTooLong,
} from '../../base/pattern/linear-pattern.ts'
import {
  type Activation,
  type PatternTemplate,
  requestUrl,
  type Template,
  urlText,
} from '../../policy/index.ts'
import { PolicyFailure } from '../contracts/policy-failure.ts'
import { replaceAll } from '../services/replace-text.ts'
import type { RequestExecution } from './execution.ts'

/** The compiled pattern, with its `${}` evaluated before. Throws `SearchTooLong`. */
export function patternOf(
  { regex, template }: PatternTemplate,
  activation: Activation,
  charge: ChargeSteps,
): LinearRegex {
  if (regex !== undefined) return regex
  try {
    return compileLinearRegex(template.evaluate(activation), charge)
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
  if (from === undefined) return { url, text: target, matches: [url] }
  const budget = execution.searches
  try {
    const regex = patternOf(from, execution, budget)
    return { url, ...replaceAll(url, { regex, to: target }, budget) }
  } catch (error) {
    if (error instanceof SearchTooLong) throw new PolicyFailure(error.message)
    throw error
  }
}
