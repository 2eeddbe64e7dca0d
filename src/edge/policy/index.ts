/**
 * Traffic policies on live traffic: `compilePolicy` turns the text of a policy into the same connection and request steps
 * that modules compile to. One file in `actions/` implements each action that `src/policy/actions` declares; where a
 * module does the same, both call the same function. `execution.ts` is what expressions read and actions change. `trial/`
 * runs a request through a policy without a server.
 */
import { trimOws } from '../../base/http/optional-white-space.ts'
import type { Program } from '../../cel/index.ts'
import {
  type ActionType,
  type Activation,
  type CompiledRule,
  type PhaseName,
  type Policy,
  type PolicyAction,
  type PolicyRule,
  runRules,
} from '../../policy/index.ts'
import type { AppliedAction } from '../contracts/applied-actions.ts'
import type { ClientConnection } from '../contracts/connection.ts'
import { addTransform, type MutableResponse } from '../contracts/exchange.ts'
import type { ConnectionStep, ForwardConnection, RequestStep, StepResult } from '../contracts/module.ts'
import { PolicyFailure } from '../contracts/policy-failure.ts'
import { EdgeError, edgeError } from '../errors.ts'
import { readSignInTarget } from '../sign-in-target.ts'
import { implementations } from './actions/index.ts'
import type { PolicyContext, ReadTlsSettings } from './context.ts'
import { createEventTransform, decodeFirst } from './event-stream.ts'
import { ConnectionExecution, MessageExecution, RequestExecution, ResponseExecution } from './execution.ts'
import type { AnyImplementation, PhaseSteps } from './implement.ts'
import { isPolicyFailure, toRejection } from './rejection.ts'
import { replaceResponse } from './replace-response.ts'

/** What a policy compiles to; undefined for phases that it does not have. */
export interface CompiledPolicy {
  readonly connection: ConnectionStep | undefined
  readonly request: RequestStep | undefined
  /** The steps inside that sign visitors in. */
  readonly signIns: readonly RequestStep[]
  /** How TLS is terminated, if the policy does that; the same object while nothing has changed. */
  readonly tls: ReadTlsSettings | undefined
}

/** Compiles one action for one of its phases. */
export type CompileAction = <P extends keyof PhaseSteps>(
  phase: P,
  action: PolicyAction,
  context: PolicyContext,
) => PhaseSteps[P]

/** Compiles an action to what it does to live traffic. */
export const compileAction: CompileAction = (phase, { action, config }, context) => {
  const implementation: AnyImplementation = implementations[action.type as ActionType]
  // The validator admits an action only in its phases, and reads its configuration with its declaration.
  return implementation[phase]!(config as never, context)
}

/** Compiles a policy. Throws `ModuleConfigError` when something it refers to is missing. */
export function compilePolicy(
  { phases }: Policy,
  context: PolicyContext,
  compile: CompileAction = compileAction,
): CompiledPolicy {
  const contextOf = actionContexts(context)
  const connectRules = compileRules('on_tcp_connect', phases.on_tcp_connect, contextOf, compile)
  const requestRules = compileRules('on_http_request', phases.on_http_request, contextOf, compile)
  const responseRules = compileRules('on_http_response', phases.on_http_response, contextOf, compile)
  const messageRules = compileRules(
    'on_event_stream_message',
    phases.on_event_stream_message,
    contextOf,
    compile,
  )
  const connections: Connections = new WeakMap()
  return {
    connection: connectRules && connectionStep(connectRules, context, connections),
    request:
      requestRules === undefined &&
      responseRules === undefined &&
      messageRules === undefined &&
      !forwardsConnections(phases)
        ? undefined
        : requestStep(requestRules ?? [], { responseRules, messageRules }, context, connections),
    signIns: context.signIns,
    tls: context.terminations[0],
  }
}

/** Whether the requests of a connection may continue on an internal endpoint. */
const forwardsConnections = ({ on_tcp_connect: rules = [] }: Policy['phases']) =>
  rules.some(({ actions }) => actions.some(({ action }) => action.type === 'forward-internal'))

type Rules<P extends keyof PhaseSteps> = CompiledRule<
  Parameters<PhaseSteps[P]>[0],
  Exclude<ReturnType<PhaseSteps[P]>, undefined | Promise<unknown>>
>[]

function compileRules<P extends keyof PhaseSteps>(
  phase: P,
  rules: readonly PolicyRule[] | undefined,
  contextOf: ActionContexts,
  compile: CompileAction,
): Rules<P> | undefined {
  return rules?.map(({ name, conditions, actions }, index) => ({
    name,
    guard: guardOf({ name, actions }, phase, index + 1),
    conditions: actions.some(({ action }) => action.signsIn) ? conditions.map(orSignInTarget) : conditions,
    steps: actions.flatMap((action) => {
      const { type, ends } = action.action
      const context = contextOf([phase, name, type, action.source])
      const place = placeOf(phase, index + 1, name, type)
      logWarning(action, place, context)
      const step = located(compile(phase, action, context), place)
      if (phase !== 'on_http_request' && phase !== 'on_http_response') return [step]
      const record = recordStep({ endpoint: context.serviceName, phase, rule: index + 1, name, action: type })
      // Nothing runs after an action that ends the phase; others may have failed.
      return ends === 'always' ? [record, step] : [step, record]
    }),
  })) as Rules<P> | undefined
}

/** Binds have no place for a warning: the operator reads it once for each action. */
function logWarning({ action, config }: PolicyAction, place: string, context: PolicyContext): void {
  const warning = action.warningOf(config)
  if (warning === undefined) return
  const { log, accountId, serviceName: endpoint } = context
  context.keepState('warning', () => {
    log.warn({ accountId, endpoint, place, warning }, 'action of a traffic policy may not work as expected')
    return {}
  })
}

const placeOf = (phase: PhaseName, rule: number, name: string, action: string) =>
  `${phase}, rule ${rule}${name === '' ? '' : ` "${name}"`} (${action})`

/** Names the first action of a rule that rejects. */
function guardOf(
  { name, actions }: Pick<PolicyRule, 'name' | 'actions'>,
  phase: PhaseName,
  rule: number,
): string | undefined {
  const rejecting = actions.find(({ action, config }) => action.rejects(config))
  return rejecting && placeOf(phase, rule, name, rejecting.action.type)
}

/** A step whose failures name their place. */
function located<S extends (execution: never) => unknown>(step: S, place: string): S {
  const fail = (error: unknown): never => {
    throw isPolicyFailure(error) ? new PolicyFailure(`${place}: ${error.message}`) : error
  }
  return ((execution: never) => {
    try {
      const result = step(execution)
      return result instanceof Promise ? result.catch(fail) : result
    } catch (error) {
      return fail(error)
    }
  }) as S
}

/** A step that records an action for the inspector of the agent. */
function recordStep(action: Omit<AppliedAction, 'error'>) {
  const resultName = action.action.replaceAll('-', '_')
  return ({ exchange, results }: RequestExecution | ResponseExecution): undefined => {
    const { error } = (results[resultName] ?? {}) as { error?: { readonly message: string } }
    exchange.recordAction({ ...action, error: error?.message })
  }
}

/**
 * What a rule that signs visitors in requires: its expressions tell which requests need a visitor, while the visitor comes
 * back from the provider on a path of the sign-in's own.
 */
const orSignInTarget = (condition: Program): Program => ({
  ...condition,
  evaluate: (activation) =>
    readSignInTarget((activation as Activation).req!.target) !== undefined || condition.evaluate(activation),
})

type ActionContexts = (identity: readonly unknown[]) => PolicyContext

/** The context of each action: its state is found by what the action is, and by how many alike come before it. */
function actionContexts(context: PolicyContext): ActionContexts {
  const occurrences = new Map<string, number>()
  return (identity) => {
    const text = JSON.stringify(identity)
    const occurrence = occurrences.get(text) ?? 0
    occurrences.set(text, occurrence + 1)
    return {
      ...context,
      keepState: (key, create) => context.keepState(`${text} ${occurrence} ${key}`, create),
    }
  }
}

/** What the rules of `on_tcp_connect` decided about a connection, and what their actions found out about it. */
type Connections = WeakMap<
  ClientConnection,
  { readonly rejection: unknown; readonly execution: ConnectionExecution }
>

/** Runs once for each connection, although HTTP connections are admitted once for each request. */
function connectionStep(
  rules: Rules<'on_tcp_connect'>,
  context: PolicyContext,
  connections: Connections,
): ConnectionStep {
  const decide = (connection: ClientConnection, forward: ForwardConnection) => {
    const execution = new ConnectionExecution(context, connection, forward)
    try {
      void runRules(rules, execution, execution)
      return { rejection: undefined, execution }
    } catch (error) {
      const rejection = toRejection(error, execution)
      return {
        rejection: rejection instanceof EdgeError ? rejection.closingConnection() : rejection,
        execution,
      }
    }
  }
  // A connection that is open already stays on its way.
  return (connection, forward = () => undefined) => {
    let decision = connections.get(connection)
    if (decision === undefined) {
      decision = decide(connection, forward)
      connections.set(connection, decision)
    }
    if (decision.rejection !== undefined) throw decision.rejection
  }
}

function requestStep(
  rules: Rules<'on_http_request'>,
  {
    responseRules,
    messageRules,
  }: {
    readonly responseRules: Rules<'on_http_response'> | undefined
    readonly messageRules: Rules<'on_event_stream_message'> | undefined
  },
  context: PolicyContext,
  connections: Connections,
): RequestStep {
  const startResponse = (request: RequestExecution, response: MutableResponse) => {
    // Messages are changed before other actions see or compress the stream.
    if (messageRules !== undefined) attachMessageRules(messageRules, request, response)
    return responseRules && runResponseRules(responseRules, request, response)
  }
  const watchesResponse = responseRules !== undefined || messageRules !== undefined
  /** Responses of guards, such as a redirect to sign in, are not the policy's to change. */
  const finish = (execution: RequestExecution, result: StepResult | undefined) => {
    if (!execution.guardAnswered) execution.watchResponse()
    return result
  }
  return (exchange) => {
    const connectionExecution = connections.get(exchange.connection)?.execution
    const target = connectionExecution?.requestTarget
    if (target !== undefined) {
      const route = context.findInternal(target)
      if (route === undefined) throw edgeError('internal_not_found')
      return route
    }
    const execution = new RequestExecution(
      context,
      exchange,
      // Each request goes on from what was found out about its connection.
      { ...connectionExecution?.results },
      watchesResponse ? (started) => startResponse(execution, started) : undefined,
    )
    const reject = (error: unknown): never => {
      throw toRejection(error, execution)
    }
    try {
      const result = runRules(rules, execution, execution)
      return result instanceof Promise
        ? result.then((settled) => finish(execution, settled), reject)
        : finish(execution, result)
    } catch (error) {
      return reject(error)
    }
  }
}

/** Runs before the response is sent, so that a rejection replaces it. */
function runResponseRules(
  rules: Rules<'on_http_response'>,
  request: RequestExecution,
  response: MutableResponse,
): undefined | Promise<undefined> {
  const execution = new ResponseExecution(request, response)
  const reject = (error: unknown): undefined => {
    const rejection = toRejection(error, execution)
    if (!(rejection instanceof EdgeError)) throw rejection
    replaceResponse(execution, request.exchange.renderError(rejection))
  }
  try {
    const result = runRules(rules, execution, execution)
    return result instanceof Promise ? result.then(() => undefined, reject) : undefined
  } catch (error) {
    return reject(error)
  }
}

/** Runs the rules for every message of an event stream. A failure breaks the stream off. */
function attachMessageRules(
  rules: Rules<'on_event_stream_message'>,
  request: RequestExecution,
  response: MutableResponse,
): void {
  const { fields } = response
  const type = (fields.get('content-type') ?? '').toLowerCase()
  if (!response.hasBody || !type.startsWith('text/event-stream')) return
  const transform = createEventTransform((message) => {
    const execution = new MessageExecution(request, response, message)
    const result = runRules(rules, execution, execution)
    return result instanceof Promise ? result : undefined
  })
  transform.on('error', (error) => void toRejection(error, request))
  const decoded = decodeFirst(trimOws(fields.getAll('content-encoding').join(',')).toLowerCase(), transform)
  if (decoded === undefined) return
  fields.remove('content-encoding')
  addTransform(response, decoded)
}
