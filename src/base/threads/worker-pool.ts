import type { ResourceLimits, Worker } from 'node:worker_threads'
import { startThread } from '../start-thread.ts'

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
  readonly maxThreads: number
  /** Jobs that may wait for a thread, in total and per owner, so that no owner fills the queue. */
  readonly maxQueued: number
  readonly maxQueuedPerOwner: number
  /** Milliseconds a job may run. */
  readonly jobTimeoutMs: number
  /** Milliseconds a thread may take to load its module. */
  readonly startTimeoutMs?: number
  readonly resourceLimits?: ResourceLimits
}

interface PendingJob<Job, Result> {
  readonly job: Job
  readonly owner: string
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
 * Runs jobs in a few worker threads, one at a time in each. A job that times out or crashes its worker fails alone: the
 * pool replaces the worker and continues with the queue. Threads start on demand.
 */
export class WorkerPool<Job, Result> {
  readonly #options: WorkerPoolOptions
  readonly #threads = new Set<Thread<Job, Result>>()
  readonly #queue: PendingJob<Job, Result>[] = []
  #closed = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
  }

  /** Rejects with a `PoolFailure`, or with an error that carries the job's own message. */
  run(owner: string, job: Job): Promise<Result> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new PoolFailure('closed'))
      const pending = { job, owner, resolve, reject }
      for (const thread of this.#threads) if (thread.idle) return this.#assign(thread, pending)
      if (!this.#hasRoom(owner)) return reject(new PoolFailure('busy'))
      this.#queue.push(pending)
      if (this.#threads.size < this.#options.maxThreads) this.#start()
    })
  }

  /** Terminates all threads; running and queued jobs fail. */
  async close(): Promise<void> {
    this.#closed = true
    for (const { reject } of this.#queue.splice(0)) reject(new PoolFailure('closed'))
    await Promise.all(Array.from(this.#threads, ({ worker }) => worker.terminate()))
  }

  #hasRoom(owner: string): boolean {
    const { maxQueued, maxQueuedPerOwner } = this.#options
    if (this.#queue.length >= maxQueued) return false
    let queuedByOwner = 0
    for (const queued of this.#queue) if (queued.owner === owner) queuedByOwner++
    return queuedByOwner < maxQueuedPerOwner
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
    const next = this.#queue.shift()
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
    const failed = thread.current ?? (thread.idle ? undefined : this.#queue.shift())
    failed?.reject(new PoolFailure(code))
    if (this.#queue.length > 0 && !this.#closed) this.#start()
  }
}
