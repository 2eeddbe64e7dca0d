import { list, parsed, text } from '../value.ts'

const lowercaseEntries = list(
  parsed(255, (value) => {
    if (value.trim() === '') throw new Error('an entry must not be empty.')
    return value.trim().toLowerCase()
  }),
  {
    maxItems: 500,
    rule: (items) => (new Set(items).size === items.length ? undefined : 'holds the same entry twice.'),
  },
)

export const emailRules = { email_addresses: lowercaseEntries, email_domains: lowercaseEntries }

export const groupRules = { authorized_groups: list(text(255), { maxItems: 200 }) }

/** What is wrong with a rule about a claim, which is `name=value`. */
export const claimRuleError = (rule: string) =>
  /^[^=]+=/.test(rule) ? undefined : 'has to be name=value, such as department=ops.'

/** Claims the visitor must have. Several values of one name are alternatives. */
export const claimRules = { authorized_claims: list(text(1024, claimRuleError), { maxItems: 100 }) }
