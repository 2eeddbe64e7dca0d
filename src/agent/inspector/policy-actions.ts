import { decode, PolicyNote } from '../../protocol/index.ts'

/** An action of a traffic policy that the server ran for a request. */
export interface CapturedAction {
  /** What the policy is attached to: the id of a route, or the host of an endpoint. */
  readonly endpoint: string
  readonly phase: string
  /** The number of the rule in its phase, from 1. */
  readonly rule: number
  readonly name: string
  readonly action: string
  /** Why it failed, if the policy continues then. */
  readonly error?: string
}

/** The memory that an action takes, in bytes. */
export const ACTION_BYTES = 512

/** The request on its stream that a note is about, and the actions; undefined for a note that cannot be read. */
export function readPolicyNote(
  payload: Buffer,
): { readonly request: number; readonly actions: readonly CapturedAction[] } | undefined {
  try {
    const { Request, Actions } = decode(PolicyNote, JSON.parse(payload.toString('utf8')))
    return {
      request: Request,
      actions: Actions.map(({ Endpoint = '', Phase, Rule, Name = '', Action, Error: error }) => ({
        endpoint: Endpoint,
        phase: Phase,
        rule: Rule,
        name: Name,
        action: Action,
        ...(error !== undefined && { error }),
      })),
    }
  } catch {
    return undefined
  }
}
