import { Server } from 'node:net'
import { VERSION } from '../../base/version.ts'
import type { ListenerAnswer, ListenerRequest, MessageToPredecessor } from '../process/upgrade-messages.ts'
import { PredecessorChannel, type PredecessorDescription } from './predecessor-channel.ts'

/** Set for a process that another release has started to be replaced by it: a `PredecessorDescription` as JSON. */
export const SUCCESSOR_VARIABLE = 'ADIT_SUCCESSOR'

type ReceivedAnswer = Omit<ListenerAnswer, 'id'> & { readonly server: Server | undefined }

/** The running release, seen from the one that replaces it. */
export class RunningPredecessor extends PredecessorChannel {
  constructor(description: PredecessorDescription) {
    let lastQuestion = 0
    const questions = new Map<number, (answer: ReceivedAnswer) => void>()
    const ask = (request: ListenerRequest) =>
      new Promise<ReceivedAnswer>((resolve) => {
        const id = ++lastQuestion
        questions.set(id, resolve)
        send({ ...request, id })
      })
    super(
      {
        addressOf: async (name, worker) => (await ask({ addressOf: name, worker })).address,
        take: async (name, worker) => (await ask({ take: name, worker })).server,
      },
      description,
    )
    if (process.connected) process.once('disconnect', () => this.end())
    else this.end()
    process.on('message', ({ id, address }: ListenerAnswer, handle) => {
      questions.get(id)?.({ address, server: handle instanceof Server ? handle : undefined })
      questions.delete(id)
    })
  }

  /** The listeners are taken over: the predecessor may drain and end. */
  reportReady(): void {
    send({ ready: { version: VERSION } })
  }

  /** The start failed; resolves once the predecessor knows. */
  reportFailure(reason: string): Promise<void> {
    return new Promise((resolve) => send({ failed: reason }, resolve))
  }
}

/** The release that has started this process to be replaced by it, if one has. */
export function findPredecessor(environment: NodeJS.ProcessEnv): RunningPredecessor | undefined {
  const description = environment[SUCCESSOR_VARIABLE]
  if (description === undefined || process.send === undefined) return undefined
  // Processes that this one starts are no successors.
  delete environment[SUCCESSOR_VARIABLE]
  return new RunningPredecessor(JSON.parse(description) as PredecessorDescription)
}

function send(message: MessageToPredecessor, onSent: () => void = () => {}): void {
  if (process.connected) process.send?.(message, undefined, undefined, onSent)
  else onSent()
}
