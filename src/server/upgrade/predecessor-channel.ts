import type { AddressInfo, Server } from 'node:net'
import type { Predecessor } from '../../base/io/sockets/listeners.ts'
import type { WorkerAddresses } from '../process/worker-messages.ts'

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

type ListenerOwner = Pick<PredecessorChannel, 'addressOf' | 'take'>

/**
 * The process that this one replaces, at the other end of a channel. Its listeners are taken one after the other: a channel
 * passes on a listener at once only while none before it is under way.
 */
export class PredecessorChannel implements Predecessor {
  readonly #process: ListenerOwner
  readonly #ended = Promise.withResolvers<undefined>()
  #lastTake: Promise<Server | undefined> = Promise.resolve(undefined)
  readonly workers: RunningWorkers | undefined

  constructor(process: ListenerOwner, { workers }: PredecessorDescription = {}) {
    this.#process = process
    this.workers = workers
  }

  /** Resolves when the process has ended. */
  get ended(): Promise<undefined> {
    return this.#ended.promise
  }

  /** Where it listens under this name, or its worker with this number. */
  addressOf(name: string, worker?: number): Promise<AddressInfo | undefined> {
    return Promise.race([this.ended, this.#process.addressOf(name, worker)])
  }

  /** Hands over the listener of this name, or that of its worker with this number. */
  take(name: string, worker?: number): Promise<Server | undefined> {
    this.#lastTake = this.#lastTake.then(() => Promise.race([this.ended, this.#process.take(name, worker)]))
    return this.#lastTake
  }

  /** The process has ended, and has no listeners any more. */
  end(): void {
    this.#ended.resolve(undefined)
  }
}
