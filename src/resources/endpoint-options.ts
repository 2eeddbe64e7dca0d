/**
 * The options that agents and SSH clients can set on their endpoints: a second, light front door of this part, for those
 * that need no resources. `agent` and `protocol` enter here only.
 */
import { type Static, type TOptional, Type } from 'typebox'
import { endpointOptions } from './modules/index.ts'
import type { EndpointOption } from './schema/option.ts'

export { splitCredential } from './modules/basic-auth.ts'
export { metadataError, wantsSignedRequests } from './modules/idp-metadata.ts'
export { MAX_REFRESH_SECONDS } from './modules/login-session.ts'
export { OAUTH_PROVIDERS } from './modules/oauth.ts'
export { TOKEN_AUTH_METHODS, tokenAuthError } from './modules/oidc.ts'
export { NAMEID_FORMATS } from './modules/saml.ts'
export { MAX_POLICY_BYTES } from './modules/traffic-policy.ts'
export { WEBHOOK_PROVIDERS } from './modules/webhook-verification.ts'
export { durationMark, type EndpointOption } from './schema/option.ts'
export { endpointOptions }

type Options = typeof endpointOptions

/** The name of a module that endpoints can have. */
export type OptionName = keyof Options

/** The options as a list, for code that treats all alike. */
export const allEndpointOptions: readonly EndpointOption[] = Object.values(endpointOptions)

/** The options of a tunnel: each configures the edge module of the same name. */
export type ModuleOptions = {
  [N in OptionName as Options[N]['name']]?: ReturnType<Options[N]['decode']>
}

/** The configuration of every option by its key. */
export type OptionConfigs = { [N in OptionName as Options[N]['key']]: Static<Options[N]['config']> }

/** The fields of a Bind message. */
export const optionFields: {
  [N in OptionName as Options[N]['field']]: TOptional<Options[N]['wire']>
} = Object.fromEntries(allEndpointOptions.map(({ field, wire }) => [field, Type.Optional(wire)])) as never
