import type { ActionOf, ActionType, ConfigOf } from '../../../policy/index.ts'
import type { EdgeResponse } from '../../response/response.ts'
import type { RequestExecution, ResponseExecution } from '../execution.ts'

/** What an action would do that reaches outside or needs what a trial does not have. */
export interface WouldDo {
  /** Continues the sentence "would …". */
  readonly effect: string
  /** Ends the phase. */
  readonly result?: EdgeResponse
}

/** What a trial assumes of the outside. */
export interface Assumptions {
  /** What the upstream responds. */
  readonly response: EdgeResponse
  /** The visitor who has signed in; undefined for one who has not. */
  readonly signedInAs: string | undefined
}

type Describe<T extends ActionType> = (
  config: ConfigOf<ActionOf<T>>,
  execution: RequestExecution,
  assumptions: Assumptions,
) => WouldDo

const SIGN_IN_REDIRECT: EdgeResponse = { status: 302, fields: '', body: Buffer.alloc(0) }

function signIn(
  resultName: 'oauth' | 'oidc' | 'saml',
  provider: string,
  execution: RequestExecution,
  { signedInAs: email }: Assumptions,
): WouldDo {
  if (email === undefined) {
    execution.guardAnswered = true
    return { effect: `send the visitor to ${provider} to sign in`, result: SIGN_IN_REDIRECT }
  }
  execution.results[resultName] = {
    identity: { id: email, provider_user_id: email, email, name: email },
    session_timed_out: false,
    session_max_duration_reached: false,
    userinfo_refreshed: false,
  }
  return { effect: `admit ${email}, who has signed in with ${provider}` }
}

/** The actions that a trial describes instead of running them. */
const outsideActions: { readonly [T in ActionType]?: Describe<T> } = {
  'forward-internal': ({ url }, execution, { response }) => ({
    effect: `forward to ${url.evaluate(execution)}`,
    result: response,
  }),
  'http-request': ({ method, url }, execution) => ({
    effect: `call ${method} ${url.evaluate(execution)}; its results are absent here`,
  }),
  'jwt-validation': ({ issuer }, execution) => ({
    effect: `verify the token with the keys of ${issuer.allow_list.map(({ value }) => value.evaluate(execution)).join(', ')}; its results are absent here`,
  }),
  oauth: ({ provider }, execution, assumptions) => signIn('oauth', provider, execution, assumptions),
  'openid-connect': ({ issuer_url }, execution, assumptions) =>
    signIn('oidc', issuer_url, execution, assumptions),
  saml: (_config, execution, assumptions) => signIn('saml', 'the identity provider', execution, assumptions),
}

/** How a trial describes an action; undefined for one that it runs. */
export function findOutsideAction(
  type: string,
):
  | ((config: unknown, execution: RequestExecution | ResponseExecution, assumptions: Assumptions) => WouldDo)
  | undefined {
  // The configuration was read with the declaration of the action, which also names its phases.
  return outsideActions[type as ActionType] as ReturnType<typeof findOutsideAction>
}
