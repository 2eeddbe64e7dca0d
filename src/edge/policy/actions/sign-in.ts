import type { ActionResult, Activation, Template } from '../../../policy/index.ts'
import { Oauth, Oidc, Saml } from '../../../resources/index.ts'
import type { VisitorIdentity, VisitorSession } from '../../contracts/exchange.ts'
import type { RequestStep, StepResult } from '../../contracts/module.ts'
import { PolicyFailure } from '../../contracts/policy-failure.ts'
import { requireLogins } from '../../modules/login.ts'
import type { PolicyContext } from '../context.ts'
import type { RequestExecution } from '../execution.ts'
import type { Implementation } from '../implement.ts'

/** How many pairs of credentials a policy may choose from by request. */
const MAX_STEPS = 16

interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
}

interface ClientTemplates {
  readonly client_id: Template
  readonly client_secret: Template
}

/** One step for each pair of credentials; most policies have one pair, whose mistakes show at once. */
function signInSteps(
  { client_id, client_secret }: ClientTemplates,
  { signIns }: PolicyContext,
  create: (credentials: Credentials) => RequestStep,
): (activation: Activation) => RequestStep {
  const build = (credentials: Credentials) => {
    const step = create(credentials)
    signIns.push(step)
    return step
  }
  if (client_id.literal !== undefined && client_secret.literal !== undefined) {
    const step = build({ clientId: client_id.literal, clientSecret: client_secret.literal })
    return () => step
  }
  const steps = new Map<string, RequestStep>()
  return (activation) => {
    const clientId = client_id.evaluate(activation)
    const clientSecret = client_secret.evaluate(activation)
    const key = JSON.stringify([clientId, clientSecret])
    const known = steps.get(key)
    if (known !== undefined) return known
    if (steps.size >= MAX_STEPS) throw new PolicyFailure('the client of a sign-in changes too often')
    const step = build({ clientId, clientSecret })
    steps.set(key, step)
    return step
  }
}

/** What later rules read. The declaration of each action says which of it. */
function toResult({ id, email, name, groups }: VisitorIdentity, session: VisitorSession): ActionResult {
  return {
    identity: {
      id,
      provider_user_id: id,
      email,
      name,
      groups,
      current_session_id: session.id,
      current_provider_session_id: session.id,
    },
    expires_at: new Date(session.expiresAt).toISOString(),
    session_timed_out: session.follows === 'idle',
    session_max_duration_reached: session.follows === 'maximum',
    userinfo_refreshed: session.follows === 'recheck',
    ...session.tokens,
  }
}

/** Lets visitors in who have signed in, and tells later rules who they are. */
function signInAction(
  resultName: 'oauth' | 'oidc' | 'saml',
  stepFor: (activation: Activation) => RequestStep,
) {
  const finish = (execution: RequestExecution, response: StepResult | undefined) => {
    if (response !== undefined) execution.guardAnswered = true
    const { identity, visitorSession } = execution.exchange
    if (identity !== undefined && visitorSession !== undefined)
      execution.results[resultName] = toResult(identity, visitorSession)
    execution.headersChanged()
    return response
  }
  return (execution: RequestExecution) => {
    const result = stepFor(execution)(execution.exchange)
    return result instanceof Promise
      ? result.then((response) => finish(execution, response))
      : finish(execution, result)
  }
}

interface SessionConfig {
  readonly max_session_duration: number | undefined
  readonly allow_cors_preflight: boolean
  readonly idle: number | undefined
}

interface ClientConfig extends SessionConfig, ClientTemplates {
  readonly auth_id: string | undefined
  readonly auth_cookie_domain: string | undefined
  readonly userinfo_refresh_interval: number | undefined
  readonly authz_url_params: readonly (readonly [name: string, value: string])[]
}

/** The settings of a session at a provider that is asked with parameters, and again after a time. */
function clientSettings(config: ClientConfig, { requiredTokens }: PolicyContext) {
  return {
    ...sessionSettings(config),
    ...(config.auth_id !== undefined && { cookie_prefix: `adit.${config.auth_id}.` }),
    auth_check_interval: Math.ceil((config.userinfo_refresh_interval ?? 0) / 1000),
    authz_url_params: Object.fromEntries(config.authz_url_params),
    ...(config.auth_cookie_domain !== undefined && { auth_cookie_domain: config.auth_cookie_domain }),
    // Only where there are some: sessions are valid for the settings that they began with.
    ...(requiredTokens.length > 0 && { required_tokens: requiredTokens }),
  }
}

/** The settings of a session, in seconds. */
function sessionSettings(config: SessionConfig) {
  return {
    maximum_duration: Math.ceil((config.max_session_duration ?? 0) / 1000),
    inactivity_timeout: Math.ceil((config.idle ?? 0) / 1000),
    options_passthrough: config.allow_cors_preflight,
  }
}

/** Whom a policy admits is said by its rules after the sign-in. */
const ADMIT_EVERYONE = { allowEmails: [], allowDomains: [], allowGroups: [], allowClaims: [] }

const CLIENT_MODULES = { oauth: Oauth, oidc: Oidc }

/** Signs in with an application at a provider. `option` is what agents may say of the module, too. */
function signInWithClient(
  protocol: keyof typeof CLIENT_MODULES,
  option: object,
  config: ClientConfig,
  context: PolicyContext,
) {
  const { value, endpoint } = CLIENT_MODULES[protocol]
  const steps = signInSteps(config, context, (credentials) => {
    const settings = {
      ...value.fallback,
      ...endpoint.settings!({ ...option, ...ADMIT_EVERYONE, ...credentials } as never),
      ...clientSettings(config, context),
    }
    return requireLogins(context)[protocol](settings as never, context)
  })
  return signInAction(protocol, steps)
}

export const oauth: Implementation<'oauth'> = {
  on_http_request(config, context) {
    const { provider, scopes, idle_session_timeout: idle } = config
    return signInWithClient('oauth', { provider, scopes }, { ...config, idle }, context)
  },
}

export const openidConnect: Implementation<'openid-connect'> = {
  on_http_request(config, context) {
    const { issuer_url: issuerUrl, scopes, idle_session_duration: idle } = config
    const { token_endpoint_auth_method: tokenAuthMethod } = config
    const option = { issuerUrl, scopes, ...(tokenAuthMethod !== undefined && { tokenAuthMethod }) }
    return signInWithClient('oidc', option, { ...config, idle }, context)
  },
}

export const saml: Implementation<'saml'> = {
  on_http_request(config, context) {
    const { idp_metadata: metadata, nameid_format, force_authn, allow_idp_initiated } = config
    const { email_attribute, name_attribute, groups_attribute, sign_requests } = config
    const isUrl = metadata.startsWith('http')
    const step = requireLogins(context).saml(
      {
        ...Saml.value.fallback,
        idp_metadata: isUrl ? '' : metadata,
        idp_metadata_url: isUrl ? metadata : '',
        nameid_format,
        force_authn,
        allow_idp_initiated,
        email_attribute,
        name_attribute,
        groups_attribute,
        // A policy has no place for a key pair of its own; the account has one.
        request_signing_key_pem: '',
        // Only where it is set: sessions are valid for the settings that they began with.
        ...(sign_requests && { sign_requests }),
        ...sessionSettings({ ...config, idle: config.idle_session_timeout }),
      } as never,
      context,
      context.serviceName,
    )
    context.signIns.push(step)
    return signInAction('saml', () => step)
  },
}
