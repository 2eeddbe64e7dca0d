import { type AddressInfo, Server } from 'node:net'
import type { Predecessor } from '../../base/io/listeners.ts'
import { VERSION } from '../../base/version.ts'
import type { MessageToPredecessor, MessageToSuccessor } from './messages.ts'

/** Set for a process that another release has started to be replaced by it. */
export const SUCCESSOR_VARIABLE = 'ADIT_SUCCESSOR'

interface Answer {
  readonly address: AddressInfo | undefined
  readonly server: Server | undefined
}

type Question = { readonly addressOf: string } | { readonly take: string }

/** The running release, seen from the one that replaces it. */
export class RunningPredecessor implements Predecessor {
  readonly #questions = new Map<number, (answer: Answer) => void>()
  #lastQuestion = 0
  /** Resolves when its process has ended. */
  readonly ended: Promise<void>

  constructor() {
    this.ended = new Promise((resolve) => {
      if (process.connected) process.once('disconnect', resolve)
      else resolve()
    })
    void this.ended.then(() => {
      for (const answer of this.#questions.values()) answer({ address: undefined, server: undefined })
      this.#questions.clear()
    })
    process.on('message', ({ id, address }: MessageToSuccessor, handle) => {
      this.#questions.get(id)?.({ address, server: handle instanceof Server ? handle : undefined })
      this.#questions.delete(id)
    })
  }

  async addressOf(name: string): Promise<AddressInfo | undefined> {
    return (await this.#ask({ addressOf: name })).address
  }

  async take(name: string): Promise<Server | undefined> {
    return (await this.#ask({ take: name })).server
  }

  /** The listeners are taken over: the predecessor may drain and end. */
  reportReady(): void {
    send({ ready: { version: VERSION } })
  }

  /** The start failed; resolves once the predecessor knows. */
  reportFailure(reason: string): Promise<void> {
    return new Promise((resolve) => send({ failed: reason }, resolve))
  }

  #ask(question: Question): Promise<Answer> {
    const id = ++this.#lastQuestion
    return new Promise((resolve) => {
      if (!process.connected) return resolve({ address: undefined, server: undefined })
      this.#questions.set(id, resolve)
      send({ ...question, id })
    })
  }
}

/** The release that has started this process to be replaced by it, if one has. */
export function findPredecessor(environment: NodeJS.ProcessEnv): RunningPredecessor | undefined {
  if (environment[SUCCESSOR_VARIABLE] === undefined) return undefined
  // Processes that this one starts are no successors.
  delete environment[SUCCESSOR_VARIABLE]
  return process.send === undefined ? undefined : new RunningPredecessor()
}

function send(message: MessageToPredecessor, onSent: () => void = () => {}): void {
  if (process.connected) process.send?.(message, undefined, undefined, onSent)
  else onSent()
}
