import type { ChildProcess } from 'node:child_process'
import { Server, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { HangDetector, type HangDetectorOptions } from '../../base/process/hang-detector.ts'
import { startProcess } from '../../base/process/start-process.ts'
import type { RateLease, RateLeaseRequest } from '../../edge/index.ts'
import type { Commit } from '../../store/index.ts'
import type { ListenerAnswer, ListenerQuestion } from '../process/upgrade-messages.ts'
import type {
  MessageFromWorker,
  MessageToWorker,
  WorkerAddresses,
  WorkerMethods,
  WorkerStart,
  WorkerUpdate,
} from '../process/worker-messages.ts'

/** A worker that is busy for longer is left out of what is read from all of them. */
const CALL_TIMEOUT_MS = 5_000
/** A worker that was silent for this long is not counted on any more. */
const UNRESPONSIVE_SECONDS = 3
/** Loading code and configuration may keep a slow machine busy for a while. */
const START_HANG_SECONDS = 60

interface PendingCall {
  resolve(result: never): void
  reject(error: Error): void
}

/** What a worker reports by itself. */
interface WorkerEvents {
  onCommit(commit: Commit): void
  onUpdate(update: WorkerUpdate): void
  onQuestion(question: ListenerQuestion): void
  onLeaseRequests(requests: readonly RateLeaseRequest[]): readonly RateLease[]
  /** It hangs, and is being ended. */
  onHang(): void
}

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** The worker's start failed; the message is what it would have printed. */
export class WorkerStartFailed extends Error {
  override name = 'WorkerStartFailed'
}

/** One process of a worker, seen from the control process. It loads its modules until it is told which worker it is. */
export class WorkerHandle {
  readonly #process: ChildProcess
  readonly #calls = new Map<number, PendingCall>()
  readonly #ready = Promise.withResolvers<WorkerAddresses>()
  #events: WorkerEvents | undefined
  #hangDetector: HangDetector | undefined
  #lastCall = 0
  /** Resolves when the process has ended. */
  readonly ended: Promise<ProcessEnd>

  constructor() {
    // Its log is ours: last words of the runtime itself are written there too.
    this.#process = startProcess(new URL('./worker-process.ts', import.meta.url), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.ended = new Promise((resolve) => {
      this.#process.once('error', () => resolve({ code: null, signal: null }))
      this.#process.once('exit', (code, signal) => resolve({ code, signal }))
    })
    void this.ended.then((end) => this.#onEnded(end))
    // A caller that stopped waiting has seen another error.
    this.#ready.promise.catch(() => {})
    this.#process.on('message', (message: MessageFromWorker, handle) => this.#receive(message, handle))
  }

  /** Makes the process a worker. */
  start(start: WorkerStart, events: WorkerEvents): void {
    this.#events = events
    this.#watch({ maxSilentRounds: START_HANG_SECONDS })
    this.#send({ start })
  }

  /** For how many seconds it has not responded; 0 while it does. */
  get silentSeconds(): number {
    const { silentRounds = 0 } = this.#hangDetector ?? {}
    return silentRounds < UNRESPONSIVE_SECONDS ? 0 : silentRounds
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Resolves once the worker serves; rejects with `WorkerStartFailed`. */
  get ready(): Promise<WorkerAddresses> {
    return this.#ready.promise
  }

  /** Calls a method of the worker. */
  async call<M extends keyof WorkerMethods>(
    method: M,
    ...args: Parameters<WorkerMethods[M]>
  ): Promise<Awaited<ReturnType<WorkerMethods[M]>>> {
    const timeout = new AbortController()
    const timer = delay(CALL_TIMEOUT_MS, undefined, { ref: false, signal: timeout.signal }).then(() => {
      throw new Error(`The worker did not answer within ${CALL_TIMEOUT_MS} ms.`)
    })
    try {
      return await Promise.race([this.#request(method, args), timer])
    } finally {
      timeout.abort()
      timer.catch(() => {})
    }
  }

  /** Drains the worker and resolves when its process has ended, however long that takes. */
  async stop(): Promise<void> {
    // The process may end before the reply arrives.
    this.#request('stop', []).catch(() => {})
    await this.ended
  }

  /** Lets the worker take over the listeners of the one that it replaces; the running release sets the time limit. */
  takeOver(): Promise<void> {
    return this.#request('takeOver', [])
  }

  /** Tells the worker what another one reported. */
  tell(update: WorkerUpdate, sender: number): void {
    this.#send({ update, from: sender })
  }

  /** Hands over the connection of an agent, of which nothing has been read. */
  handOver(socket: Socket): void {
    this.#send({ connection: 'agent' }, socket)
  }

  /** Answers a question, with a listener that only passes through this process. */
  answer(answer: ListenerAnswer, server?: Server): void {
    this.#send({ answer }, server)
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }

  /** Ends the process if it hangs. */
  #watch(options: Pick<HangDetectorOptions, 'maxSilentRounds'> = {}): void {
    this.#hangDetector?.stop()
    this.#hangDetector = new HangDetector({
      ...options,
      ask: () => this.#send({ question: 'alive' }),
      onHang: () => {
        this.#events?.onHang()
        this.kill()
      },
    })
  }

  #request<M extends keyof WorkerMethods>(
    method: M,
    args: Parameters<WorkerMethods[M]>,
  ): Promise<Awaited<ReturnType<WorkerMethods[M]>>> {
    const id = ++this.#lastCall
    return new Promise((resolve, reject) => {
      this.#calls.set(id, { resolve, reject })
      this.#send({ call: { id, method, args } })
    })
  }

  #send(message: MessageToWorker, handle?: Socket | Server): void {
    const closeListener = () => void (handle instanceof Server && handle.close())
    // A process that has just ended takes no messages; `ended` rejects what waits for it.
    if (this.#process.connected) this.#process.send(message, handle, closeListener)
    else if (handle instanceof Server) handle.close()
    else handle?.destroy()
  }

  #receive(message: MessageFromWorker, handle: unknown): void {
    if ('alive' in message) this.#hangDetector?.onReply()
    else if ('ready' in message) {
      this.#watch()
      this.#ready.resolve(message.ready)
    } else if ('failed' in message) this.#ready.reject(new WorkerStartFailed(message.failed))
    else if ('committed' in message) this.#events?.onCommit(message.committed)
    else if ('broadcast' in message) this.#events?.onUpdate(message.broadcast)
    else if ('leaseRequests' in message)
      this.#send({ leases: this.#events?.onLeaseRequests(message.leaseRequests) ?? [] })
    else if ('question' in message) this.#events?.onQuestion(message.question)
    else {
      const { id, result, error } = message.reply
      const call = this.#calls.get(id)
      this.#calls.delete(id)
      if (error === undefined) call?.resolve((handle ?? result) as never)
      else call?.reject(new Error(error))
    }
  }

  #onEnded({ code, signal }: ProcessEnd): void {
    this.#hangDetector?.stop()
    this.#hangDetector = undefined
    const error = new WorkerStartFailed(`A worker exited during startup (${signal ?? `exit code ${code}`}).`)
    this.#ready.reject(error)
    for (const call of this.#calls.values()) call.reject(new Error('The worker has exited.'))
    this.#calls.clear()
  }
}
