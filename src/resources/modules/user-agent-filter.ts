import { Type } from 'typebox'
import { compileAnyOf, compileLinearRegex } from '../../base/pattern/linear-pattern.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { defineModule } from '../schema/module.ts'
import { defineEndpointOption, optionalTexts } from '../schema/option.ts'
import { described, InvalidValue, list, text } from '../schema/value.ts'

const pattern = text(512, (value) => {
  try {
    compileLinearRegex(value)
    return undefined
  } catch (error) {
    return errorMessage(error)
  }
})

/** Allows or denies requests by their User-Agent. */
export const UserAgentFilter = defineModule(
  'user_agent_filter',
  'Rejects clients by their User-Agent header.',
  {
    allow: described(
      list(pattern, { maxItems: 50 }),
      'Regular expressions. If there are any, clients that match none of them are rejected.',
    ),
    deny: described(
      list(pattern, { maxItems: 50 }),
      'Regular expressions. Clients that match one of them are rejected.',
      ['(?i)badbot'],
    ),
  },
  {
    endpoint: defineEndpointOption({
      name: 'userAgentFilter',
      field: 'UserAgentFilter',
      key: 'user_agent_filter',
      wire: Type.Object({ allow: optionalTexts, deny: optionalTexts }),
      flags: [
        { name: 'ua-filter-allow', field: 'allow', help: 'allow user agents that match' },
        { name: 'ua-filter-deny', field: 'deny', help: 'deny user agents that match' },
      ],
      decode({ allow = [], deny = [] }): { allow: readonly string[]; deny: readonly string[] } {
        try {
          compileAnyOf(allow)
          compileAnyOf(deny)
        } catch (error) {
          throw new InvalidValue(undefined, `UserAgentFilter: ${errorMessage(error)}`)
        }
        return { allow, deny }
      },
      settings: ({ allow, deny }) => ({ allow: [...allow], deny: [...deny] }),
    }),
  },
)
