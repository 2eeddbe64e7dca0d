import { compileAnyOf, createSearchBudget, SearchTooLong } from '../../base/pattern/linear-pattern.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { type Settings, UserAgentFilter } from '../../resources/index.ts'
import { implementModule } from '../contracts/module.ts'
import { edgeError } from '../errors.ts'
import { ModuleConfigError, type ModuleContext } from './context.ts'

/** No real user agent is longer, and an unlimited search would be a denial of service. */
const MAX_USER_AGENT_LENGTH = 1024

/** Clients send the same few values, so that many decisions are cached. */
const MAX_CACHED_DECISIONS = 1000

/** Filters requests by User-Agent: admits what `allow` matches, and everything that `deny` does not. */
export const userAgentFilter = implementModule(UserAgentFilter, {
  phase: 'request',
  build({ allow, deny }: Settings<typeof UserAgentFilter>, _context: ModuleContext) {
    const allowed = compileAny(allow)
    const denied = compileAny(deny)
    const decisions = new Map<string, boolean>()

    const admits = (userAgent: string | undefined): boolean => {
      const budget = createSearchBudget()
      try {
        // Without a User-Agent only an allow pattern that matches the empty string, such as ^$, admits.
        if (userAgent === undefined) return allowed.test('', budget)
        if (userAgent.length > MAX_USER_AGENT_LENGTH) return false
        return allowed.test(userAgent, budget) || !denied.test(userAgent, budget)
      } catch (error) {
        if (error instanceof SearchTooLong) return false
        throw error
      }
    }

    return (exchange) => {
      const userAgent = exchange.fields.get('user-agent')
      const key = userAgent ?? ''
      let admitted = userAgent === undefined ? admits(undefined) : decisions.get(key)
      if (admitted === undefined) {
        admitted = admits(userAgent)
        if (decisions.size >= MAX_CACHED_DECISIONS) decisions.clear()
        decisions.set(key, admitted)
      }
      exchange.annotate('user_agent_filter.decision', admitted ? 'allow' : 'block')
      if (!admitted) throw edgeError('user_agent_denied')
      return undefined
    }
  },
})

function compileAny(patterns: readonly string[]): ReturnType<typeof compileAnyOf> {
  try {
    return compileAnyOf(patterns)
  } catch (error) {
    throw new ModuleConfigError(errorMessage(error))
  }
}
