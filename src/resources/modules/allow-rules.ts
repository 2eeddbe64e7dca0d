import { described, list, parsed, text } from '../schema/value.ts'

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

export const emailRules = {
  email_addresses: described(lowercaseEntries, 'Admits visitors with one of these email addresses.'),
  email_domains: described(
    lowercaseEntries,
    'Admits visitors with an email address at one of these domains.',
  ),
}

export const groupRules = {
  authorized_groups: described(
    list(text(255), { maxItems: 200 }),
    'Admits only members of one of these groups. Without groups, everyone who can sign in is admitted.',
  ),
}

/** What is wrong with a rule about a claim, which is `name=value`. */
export const claimRuleError = (rule: string) =>
  /^[^=]+=/.test(rule) ? undefined : 'has to be name=value, such as department=ops.'

/** Claims the visitor must have. Several values of one name are alternatives. */
export const claimRules = {
  authorized_claims: described(
    list(text(1024, claimRuleError), { maxItems: 100 }),
    'Admits only visitors with these claims, such as department=ops. If a claim is listed several times, any of its values is enough.',
  ),
}
