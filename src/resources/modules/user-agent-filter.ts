import { compileLinearPattern } from '../../base/linear-pattern.ts'
import { defineModule } from '../module.ts'
import { list, text } from '../value.ts'

const pattern = text(512, (value) => {
  try {
    compileLinearPattern(value)
    return undefined
  } catch (error) {
    return (error as Error).message
  }
})

/** Allows or denies requests by their User-Agent. */
export const UserAgentFilter = defineModule('user_agent_filter', {
  allow: list(pattern, { maxItems: 50 }),
  deny: list(pattern, { maxItems: 50 }),
})
