import type { ActionOf, ActionStep, ActionType, ConfigOf } from '../../policy/index.ts'
import type { StepResult } from '../contracts/module.ts'
import type { PolicyContext } from './context.ts'
import type {
  ConnectionExecution,
  MessageExecution,
  RequestExecution,
  ResponseExecution,
} from './execution.ts'

/** What ends a phase that yields nothing else. */
export const ENDED = { ended: true } as const

/** What actions compile to in each phase. A step throws an `EdgeError` to reject. */
export interface PhaseSteps {
  /** Cannot wait. */
  on_tcp_connect: (execution: ConnectionExecution) => typeof ENDED | undefined
  on_http_request: ActionStep<RequestExecution, StepResult>
  on_http_response: ActionStep<ResponseExecution, typeof ENDED>
  on_event_stream_message: ActionStep<MessageExecution, typeof ENDED>
}

/** The phases that the declaration of an action names. */
type PhasesOf<T extends ActionType> = ActionOf<T>['phases'][number]

/** How an action acts on traffic: compiled once for each change, in each of its phases. */
export type Implementation<T extends ActionType> = {
  readonly [P in PhasesOf<T>]: (config: ConfigOf<ActionOf<T>>, context: PolicyContext) => PhaseSteps[P]
}

/** The implementation of an action that is not known to the compiler, and so neither is its configuration. */
export type AnyImplementation = {
  readonly [P in keyof PhaseSteps]?: (config: never, context: PolicyContext) => PhaseSteps[P]
}
