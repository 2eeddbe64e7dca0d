import { compileAnyOf, type LinearPattern, SearchTooLong } from '../../base/linear-pattern.ts'
import { type Settings, UserAgentFilter } from '../../resources/index.ts'
import { refusal } from '../errors.ts'
import { defineModule } from '../module.ts'
import { ModuleConfigError, type ModuleContext } from './context.ts'

/** No browser or program has a longer name; searching without a limit would be work for whoever asks for it. */
const MAX_USER_AGENT_LENGTH = 1024

/** Visitors come with the same few names; the answers for this many are remembered. */
const MAX_CACHED_DECISIONS = 1000

/** Admits requests by their User-Agent: what `allow` matches, and everything else that `deny` does not. */
export const userAgentFilter = defineModule(UserAgentFilter, {
  phase: 'request',
  build({ allow, deny }: Settings<typeof UserAgentFilter>, _context: ModuleContext) {
    const matchesAllow = compileAny(allow)
    const matchesDeny = compileAny(deny)
    const decisions = new Map<string, boolean>()

    const admits = (userAgent: string | undefined): boolean => {
      // Without a name only a pattern that matches nothing, such as ^$, admits.
      if (userAgent === undefined) return matchesAllow('')
      if (userAgent.length > MAX_USER_AGENT_LENGTH) return false
      try {
        return matchesAllow(userAgent) || !matchesDeny(userAgent)
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
      exchange.note('user_agent_filter.decision', admitted ? 'allow' : 'block')
      if (!admitted) throw refusal('user_agent_denied')
      return undefined
    }
  },
})

function compileAny(patterns: readonly string[]): LinearPattern {
  try {
    return compileAnyOf(patterns)
  } catch (error) {
    throw new ModuleConfigError((error as Error).message)
  }
}
