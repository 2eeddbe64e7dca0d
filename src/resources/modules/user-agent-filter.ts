import { defineModule } from '../module.ts'
import { list, text } from '../value.ts'

const pattern = text(512, (value) => {
  try {
    RegExp(value)
    return undefined
  } catch {
    return `"${value}" is not a regular expression.`
  }
})

/** Admits requests by their User-Agent. */
export const UserAgentFilter = defineModule('user_agent_filter', {
  allow: list(pattern, { maxItems: 50 }),
  deny: list(pattern, { maxItems: 50 }),
})
