import type { ByteStream } from '../../base/io/streams/stream.ts'

/** An action of a traffic policy that ran for a request. */
export interface AppliedAction {
  /** What the policy is attached to: the id of a route, or the host of an endpoint. */
  readonly endpoint: string
  readonly phase: string
  /** The number of the rule in its phase, from 1. */
  readonly rule: number
  readonly name: string
  readonly action: string
  /** Why it failed, if the policy continues then. */
  readonly error: string | undefined
}

/** Far more than a policy needs; with the lengths of texts it keeps a note below the limit of the protocol. */
const MAX_ACTIONS = 30
const MAX_TEXT_LENGTH = 100

/** Where a request was sent: the stream, and its number on it. */
interface SentRequest {
  readonly stream: ByteStream
  readonly number: number
}

/** The actions that ran for a request, told to the inspector of the agent that serves it. */
export class AppliedActions {
  readonly #actions: AppliedAction[] = []
  #sentRequest: SentRequest | undefined

  /** Those that run after the request was sent are told at once. */
  add(action: AppliedAction): void {
    if (this.#actions.length === MAX_ACTIONS) return
    this.#actions.push(action)
    if (this.#sentRequest !== undefined) sendNote(this.#sentRequest, [action])
  }

  /** The request is sent on this stream; after a failed attempt, on another one. */
  onRequestSent(stream: ByteStream, number: number): void {
    if (stream.takesNotes !== true) return
    this.#sentRequest = { stream, number }
    sendNote(this.#sentRequest, this.#actions)
  }
}

function sendNote({ stream, number }: SentRequest, actions: readonly AppliedAction[]): void {
  const note = {
    Request: number,
    Actions: actions.map(({ endpoint, phase, rule, name, action, error }) => ({
      Endpoint: endpoint.slice(0, MAX_TEXT_LENGTH),
      Phase: phase,
      Rule: rule,
      ...(name !== '' && { Name: name.slice(0, MAX_TEXT_LENGTH) }),
      Action: action,
      ...(error !== undefined && { Error: error.slice(0, MAX_TEXT_LENGTH) }),
    })),
  }
  stream.sendNote?.(Buffer.from(JSON.stringify(note)))
}
