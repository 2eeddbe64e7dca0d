import { isWithin } from '../base/values/domain.ts'
import { isInternalName } from '../base/values/endpoint-url.ts'
import { policyErrors } from './error-codes.ts'
import type { Policy } from './validate.ts'

/** Checks whether an account owns a name with all names below it. */
export type OwnsDomain = (name: string) => Promise<boolean>

/** Whether a policy may have `auth_cookie_domain`. Policies are long, and few have one; an escape may hide its name. */
export const mayHaveCookieDomain = (text: string): boolean => /auth_cookie_domain|\\/.test(text)

/**
 * Why the cookies of a sign-in may not have the domain that a policy gives them on these hosts, with the number of the
 * mistake; undefined when they may.
 */
export async function findCookieDomainMistake(
  { phases }: Policy,
  hosts: readonly string[],
  ownsDomain: OwnsDomain,
): Promise<{ readonly code: number; readonly message: string } | undefined> {
  for (const { config } of (phases.on_http_request ?? []).flatMap(({ actions }) => actions)) {
    const { auth_cookie_domain: domain } = config as { auth_cookie_domain?: string }
    if (domain === undefined) continue
    // Requests reach an internal endpoint under the name of a public one.
    const outside = hosts.find(
      (host) => !isInternalName(host) && !isWithin(host.replace(/^\*\./, ''), domain),
    )
    if (outside !== undefined)
      return {
        code: policyErrors.foreign_cookie_domain.code,
        message: `auth_cookie_domain: ${outside} is not ${domain} or below it`,
      }
    if (!(await ownsDomain(domain)))
      return {
        code: policyErrors.foreign_cookie_domain.code,
        message: `auth_cookie_domain: the account has not reserved ${domain} or *.${domain}`,
      }
  }
  return undefined
}
