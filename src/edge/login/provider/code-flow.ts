import type { Outbound } from '../../../base/outbound/outbound.ts'
import type { AllowRules } from '../allow-rules.ts'

/** An application at a provider with the authorization code flow: OAuth and OpenID Connect. */
export interface CodeFlowOptions {
  readonly clientId: string
  /** Empty for a public client. */
  readonly clientSecret: string
  readonly scopes: readonly string[]
  /** Added to the URL of the sign-in page. */
  readonly parameters: Readonly<Record<string, string>>
  readonly allow: AllowRules
  readonly outbound: Pick<Outbound, 'fetch'>
  /** `https://idp.<domain>[:port]` */
  readonly idpUrl: () => string
}
