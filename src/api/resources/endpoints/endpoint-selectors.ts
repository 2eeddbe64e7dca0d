import { Endpoint } from '../../../resources/index.ts'
import type { selectorView } from '../../../sessions/index.ts'
import { compileItemCondition, type ItemCondition } from '../../crud/list-filter.ts'
import { Problem } from '../../problems.ts'

/** The fields of `endpoint` in selectors. */
const SELECTOR_FIELDS = [
  ...(['id', 'created_at', 'region', 'type', 'proto', 'scheme', 'host', 'port', 'hostport'] as const),
  ...(['public_url', 'url', 'bindings', 'pooling_enabled', 'pooling_weight'] as const),
  ...(['name', 'description', 'metadata'] as const),
] satisfies readonly (keyof ReturnType<typeof selectorView>)[]

/** Compiles one selector of a Kubernetes operator. */
export const compileSelector = (selector: string): ItemCondition =>
  compileItemCondition(selector, {
    name: 'endpoint',
    listKey: Endpoint.listKey,
    fieldNames: SELECTOR_FIELDS,
  })

/** Whether one of the selectors is true for an endpoint. One that is invalid, or takes too long, selects nothing. */
export function compileSelectors(
  selectors: readonly string[],
): (endpoint: Record<string, unknown>) => boolean {
  const conditions = selectors.flatMap((selector) => {
    const condition = compileSelector(selector)
    return 'error' in condition ? [] : [condition.matches]
  })
  return (endpoint) =>
    conditions.some((matches) => {
      try {
        return matches(endpoint)
      } catch (error) {
        if (error instanceof Problem) return false
        throw error
      }
    })
}
