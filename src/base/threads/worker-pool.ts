import type { ResourceLimits, Worker } from 'node:worker_threads'
import { ConcurrencyLimiter } from '../io/sockets/concurrency-limiter.ts'
import { OwnerQueue } from './owner-queue.ts'
import { startThread } from './start-thread.ts'

/** Why the pool itself failed a job. */
export type PoolFailureCode = 'busy' | 'deadline_exceeded' | 'crashed' | 'closed'

/** The pool could not run a job: the queue is full, the pool is closed, or the worker died or timed out. */
export class PoolFailure extends Error {
  override name = 'PoolFailure'
  readonly code: PoolFailureCode

  constructor(code: PoolFailureCode) {
    super(`worker pool: ${code.replace('_', ' ')}`)
    this.code = code
  }
}

/** The reply of a worker; `undefined` means that it is ready for its first job. */
export type WorkerReply<Result> = { readonly result: Result } | { readonly error: string } | undefined

export interface WorkerPoolOptions {
  /** The module that each thread runs; it calls `serveJobs`. */
  readonly module: URL
  /** If there are several, a single owner leaves one of them to the others. */
  readonly maxThreads: number
  /** Jobs that may wait for a thread; of one owner as many as are still free. */
  readonly maxQueued: number
  /** Milliseconds a job may run. */
  readonly jobTimeoutMs: number
  /** Milliseconds a thread may take to load its module. */
  readonly startTimeoutMs?: number
  readonly resourceLimits?: ResourceLimits
}

interface PendingJob<Job, Result> {
  readonly job: Job
  readonly owner: string
  /** Called when it no longer waits. */
  leaveQueue(): void
  resolve(result: Result): void
  reject(error: Error): void
}

interface Thread<Job, Result> {
  readonly worker: Worker
  /** The running job; undefined while the thread is idle or starting. */
  current: PendingJob<Job, Result> | undefined
  idle: boolean
  timer: NodeJS.Timeout | undefined
}

/**
 * Runs jobs in a few worker threads, one at a time in each; their owners take turns. A job that times out or crashes its worker fails alone: the
 * pool replaces the worker and continues with the queue. Threads start on demand.
 */
export class WorkerPool<Job, Result> {
  readonly #options: WorkerPoolOptions
  readonly #threads = new Set<Thread<Job, Result>>()
  readonly #queue = new OwnerQueue<PendingJob<Job, Result>>()
  readonly #queueSlots: ConcurrencyLimiter
  #closed = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
    this.#queueSlots = new ConcurrencyLimiter({ total: options.maxQueued })
  }

  /** Rejects with a `PoolFailure`, or with an error that carries the job's own message. */
  run(owner: string, job: Job): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new PoolFailure('closed'))
      const idle = this.#mayRun(owner) ? this.#threads.values().find((thread) => thread.idle) : undefined
      const leaveQueue = idle === undefined ? this.#queueSlots.acquire(owner) : () => {}
      if (leaveQueue === undefined) return reject(new PoolFailure('busy'))
      const pending = { job, owner, leaveQueue, resolve, reject }
      if (idle !== undefined) return this.#assign(idle, pending)
      this.#queue.push(owner, pending)
      this.#startIfNeeded()
    })
  }

  /** Terminates all threads; running and queued jobs fail. */
  async close(): Promise<void> {
    this.#closed = true
    for (let job = this.#queue.take(); job !== undefined; job = this.#queue.take())
      job.reject(new PoolFailure('closed'))
    await Promise.all(Array.from(this.#threads, ({ worker }) => worker.terminate()))
  }

  /** How many further jobs of an owner may run now. */
  #freeThreadsOf(owner: string): number {
    let free = Math.max(1, this.#options.maxThreads - 1)
    for (const { current } of this.#threads) if (current?.owner === owner) free--
    return free
  }

  readonly #mayRun = (owner: string): boolean => this.#freeThreadsOf(owner) > 0

  /** Starts a thread if more jobs could run than threads are about to be ready. */
  #startIfNeeded(): void {
    if (this.#closed || this.#threads.size >= this.#options.maxThreads) return
    let missing = 0
    for (const [owner, count] of this.#queue.counts()) missing += Math.min(count, this.#freeThreadsOf(owner))
    for (const { current, idle } of this.#threads) if (current === undefined && !idle) missing--
    if (missing > 0) this.#start()
  }

  #start(): void {
    const { module, resourceLimits = {}, startTimeoutMs = 60_000 } = this.#options
    const worker = startThread(module, { resourceLimits })
    const thread: Thread<Job, Result> = { worker, current: undefined, idle: false, timer: undefined }
    this.#threads.add(thread)
    // Pending requests keep the process alive, not the threads.
    worker.unref()
    worker.on('message', (reply: WorkerReply<Result>) => this.#onReply(thread, reply))
    worker.on('error', () => {}) // 'exit' follows.
    worker.on('exit', () => this.#onExit(thread))
    this.#armTimeout(thread, startTimeoutMs)
  }

  #assign(thread: Thread<Job, Result>, pending: PendingJob<Job, Result>): void {
    pending.leaveQueue()
    thread.idle = false
    thread.current = pending
    thread.worker.postMessage(pending.job)
    this.#armTimeout(thread, this.#options.jobTimeoutMs)
  }

  #armTimeout(thread: Thread<Job, Result>, timeoutMs: number): void {
    thread.timer = setTimeout(() => {
      this.#fail(thread, 'deadline_exceeded')
      void thread.worker.terminate()
    }, timeoutMs)
    thread.timer.unref()
  }

  #onReply(thread: Thread<Job, Result>, reply: WorkerReply<Result>): void {
    // The reply crossed with the timeout; the job has already failed.
    if (!this.#threads.has(thread)) return
    clearTimeout(thread.timer)
    const { current } = thread
    thread.current = undefined
    if (reply !== undefined)
      if ('result' in reply) current?.resolve(reply.result)
      else current?.reject(new Error(reply.error))
    const next = this.#queue.take(this.#mayRun)
    if (next === undefined) thread.idle = true
    else this.#assign(thread, next)
  }

  #onExit(thread: Thread<Job, Result>): void {
    if (this.#threads.has(thread)) this.#fail(thread, this.#closed ? 'closed' : 'crashed')
  }

  /** Removes a thread and fails its job. A thread that never became ready fails the job it was started for. */
  #fail(thread: Thread<Job, Result>, code: PoolFailureCode): void {
    clearTimeout(thread.timer)
    this.#threads.delete(thread)
    const failed = thread.current ?? (thread.idle ? undefined : this.#queue.take(this.#mayRun))
    failed?.leaveQueue()
    failed?.reject(new PoolFailure(code))
    this.#startIfNeeded()
  }
}
