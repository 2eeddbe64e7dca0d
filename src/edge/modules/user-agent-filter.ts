import { compileAnyOf, type LinearPattern, SearchTooLong } from '../../base/linear-pattern.ts'
import { type Settings, UserAgentFilter } from '../../resources/index.ts'
import { refusal } from '../errors.ts'
import { defineModule } from '../module.ts'
import { Broken, type World } from './context.ts'

/** No browser or program has a longer name; searching without a limit would be work for whoever asks for it. */
const MAX_LENGTH = 1024

/** Visitors come with the same few names; the answers for this many are remembered. */
const ANSWERS_KEPT = 1000

/** Admits requests by their User-Agent: what `allow` matches, and everything else that `deny` does not. */
export const userAgentFilter = defineModule(UserAgentFilter, {
  phase: 'request',
  build({ allow, deny }: Settings<typeof UserAgentFilter>, _world: World) {
    const allowed = compileAny(allow)
    const denied = compileAny(deny)
    const known = new Map<string, boolean>()

    const admits = (userAgent: string | undefined): boolean => {
      // Without a name only a pattern that matches nothing, such as ^$, admits.
      if (userAgent === undefined) return allowed('')
      if (userAgent.length > MAX_LENGTH) return false
      try {
        return allowed(userAgent) || !denied(userAgent)
      } catch (error) {
        if (error instanceof SearchTooLong) return false
        throw error
      }
    }

    return (exchange) => {
      const userAgent = exchange.fields.get('user-agent')
      const key = userAgent ?? ''
      let admitted = userAgent === undefined ? admits(undefined) : known.get(key)
      if (admitted === undefined) {
        admitted = admits(userAgent)
        if (known.size >= ANSWERS_KEPT) known.clear()
        known.set(key, admitted)
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
    throw new Broken((error as Error).message)
  }
}
