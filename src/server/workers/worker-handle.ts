import type { ChildProcess } from 'node:child_process'
import { HangDetector, type HangDetectorOptions } from '../../base/process/hang-detector.ts'
import { startProcess } from '../../base/process/start-process.ts'
import { ProcessChannel } from '../bus/process-channel.ts'
import type {
  ControlMethods,
  WorkerAddresses,
  WorkerMethods,
  WorkerStart,
} from '../process/worker-messages.ts'

/** A worker that is busy for longer is left out of what is read from all of them. */
const CALL_TIMEOUT_MS = 5_000
/** A worker that was silent for this long is not counted on any more. */
const UNRESPONSIVE_SECONDS = 3
/** Loading code and configuration may keep a slow machine busy for a while. */
const START_HANG_SECONDS = 60

/** What a worker brings about by itself. */
interface WorkerEvents {
  /** What it calls here. */
  readonly methods: ControlMethods
  /** It hangs, and is being ended. */
  onHang(): void
  /** It has missed something that others told it, and keeps up again. */
  onMissed(): void
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
  readonly #methods = {}
  readonly channel: ProcessChannel<WorkerMethods>
  readonly #ready = Promise.withResolvers<WorkerAddresses>()
  #events: WorkerEvents | undefined
  #hangDetector: HangDetector | undefined
  /** Resolves when the process has ended. */
  readonly ended: Promise<ProcessEnd>

  constructor() {
    // Its log is ours: last words of the runtime itself are written there too.
    this.#process = startProcess(new URL('./worker-process.ts', import.meta.url), {
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    this.channel = new ProcessChannel(this.#process, {
      methods: this.#methods,
      passesListeners: true,
      onMissed: () => this.#events?.onMissed(),
    })
    this.ended = new Promise((resolve) => {
      this.#process.once('error', () => resolve({ code: null, signal: null }))
      this.#process.once('exit', (code, signal) => resolve({ code, signal }))
    })
    void this.ended.then((end) => this.#onEnded(end))
    // A caller that stopped waiting has seen another error.
    this.#ready.promise.catch(() => {})
  }

  /** Makes the process a worker. */
  start(start: WorkerStart, events: WorkerEvents): void {
    this.#events = events
    Object.assign(this.#methods, events.methods)
    this.#watch({ maxSilentRounds: START_HANG_SECONDS })
    this.channel.call('start', start).then(
      (addresses) => {
        this.#watch()
        this.#ready.resolve(addresses)
      },
      (error: Error) => {
        this.#ready.reject(new WorkerStartFailed(error.message))
        this.kill()
      },
    )
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

  /** Calls a method of the worker that takes no longer than it may be busy. */
  call<M extends keyof WorkerMethods>(
    method: M,
    ...args: Parameters<WorkerMethods[M]>
  ): Promise<Awaited<ReturnType<WorkerMethods[M]>>> {
    const { promise: timeout, reject } = Promise.withResolvers<never>()
    const error = new Error(`The worker did not answer within ${CALL_TIMEOUT_MS} ms.`)
    const timer = setTimeout(reject, CALL_TIMEOUT_MS, error).unref()
    return Promise.race([this.channel.call(method, ...args), timeout]).finally(() => clearTimeout(timer))
  }

  /** Drains the worker and resolves when its process has ended, however long that takes. */
  async stop(): Promise<void> {
    // The process may end before the reply arrives.
    this.channel.call('stop').catch(() => {})
    await this.ended
  }

  kill(): void {
    this.#process.kill('SIGKILL')
  }

  /** Ends the process if it hangs. */
  #watch(options: Pick<HangDetectorOptions, 'maxSilentRounds'> = {}): void {
    this.#hangDetector?.stop()
    this.#hangDetector = new HangDetector({
      ...options,
      ask: () => {
        this.channel.call('alive').then(
          () => this.#hangDetector?.onReply(),
          () => {},
        )
      },
      onHang: () => {
        this.#events?.onHang()
        this.kill()
      },
    })
  }

  #onEnded({ code, signal }: ProcessEnd): void {
    this.#hangDetector?.stop()
    this.#hangDetector = undefined
    const error = new WorkerStartFailed(`A worker exited during startup (${signal ?? `exit code ${code}`}).`)
    this.#ready.reject(error)
    this.channel.end()
  }
}
