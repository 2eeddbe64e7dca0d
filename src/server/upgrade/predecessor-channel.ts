import { type AddressInfo, Server } from 'node:net'
import type { Predecessor } from '../../base/io/sockets/listeners.ts'
import type { ListenerAnswer, ListenerQuestion, ListenerRequest } from '../process/upgrade-messages.ts'
import type { WorkerAddresses } from '../process/worker-messages.ts'

interface Answer {
  readonly address: AddressInfo | undefined
  readonly server: Server | undefined
}

const NO_ANSWER: Answer = { address: undefined, server: undefined }

/** Workers that others replace, one by one. */
export interface RunningWorkers {
  readonly count: number
  readonly addresses: WorkerAddresses
}

/** What a release tells the one that replaces it. */
export interface PredecessorDescription {
  /** Undefined when one process of it serves the traffic. */
  readonly workers?: RunningWorkers | undefined
}

/**
 * The process that this one replaces, at the other end of a channel. Its listeners are taken one after the other: a channel
 * passes on a listener at once only while none before it is under way.
 */
export class PredecessorChannel implements Predecessor {
  readonly #send: (question: ListenerQuestion) => void
  readonly #questions = new Map<number, (answer: Answer) => void>()
  readonly #ended = Promise.withResolvers<void>()
  #lastQuestion = 0
  #lastTake: Promise<Server | undefined> = Promise.resolve(undefined)
  #isEnded = false
  readonly workers: RunningWorkers | undefined

  constructor(send: (question: ListenerQuestion) => void, { workers }: PredecessorDescription = {}) {
    this.#send = send
    this.workers = workers
  }

  /** Resolves when the process has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  /** Where it listens under this name, or its worker with this number. */
  async addressOf(name: string, worker?: number): Promise<AddressInfo | undefined> {
    return (await this.#ask({ addressOf: name, worker })).address
  }

  /** Hands over the listener of this name, or that of its worker with this number. */
  take(name: string, worker?: number): Promise<Server | undefined> {
    this.#lastTake = this.#lastTake.then(async () => (await this.#ask({ take: name, worker })).server)
    return this.#lastTake
  }

  /** The answer to a question has arrived, with the listener that was asked for. */
  receive({ id, address }: ListenerAnswer, handle: unknown): void {
    this.#questions.get(id)?.({ address, server: handle instanceof Server ? handle : undefined })
    this.#questions.delete(id)
  }

  /** The process has ended, and has no listeners any more. */
  end(): void {
    this.#isEnded = true
    for (const answer of this.#questions.values()) answer(NO_ANSWER)
    this.#questions.clear()
    this.#ended.resolve()
  }

  #ask(request: ListenerRequest): Promise<Answer> {
    const id = ++this.#lastQuestion
    return new Promise((resolve) => {
      if (this.#isEnded) return resolve(NO_ANSWER)
      this.#questions.set(id, resolve)
      this.#send({ ...request, id })
    })
  }
}
