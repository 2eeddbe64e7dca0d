import { type ResourceLimits, Worker } from 'node:worker_threads'

/** Why a job has no result although nothing was wrong with what it was given, or nothing that it could tell. */
export type PoolFailureCode = 'busy' | 'deadline_exceeded' | 'crashed' | 'closed'

/** The pool could not do a job: its queue is full, or the worker did not live to finish it. */
export class PoolFailure extends Error {
  override name = 'PoolFailure'
  readonly code: PoolFailureCode

  constructor(code: PoolFailureCode) {
    super(`worker pool: ${code.replace('_', ' ')}`)
    this.code = code
  }
}

/** What a worker answers; `undefined` stands for "ready for the first job". */
export type WorkerReply<Result> = { readonly result: Result } | { readonly error: string } | undefined

export interface WorkerPoolOptions {
  /** The module that runs in each thread; it calls `serveJobs`. */
  readonly module: URL
  readonly maxThreads: number
  /** Jobs that may wait for a thread, in total and for each owner, so that none keeps the others out. */
  readonly maxQueued: number
  readonly maxQueuedPerOwner: number
  /** Milliseconds a job may run. */
  readonly deadline: number
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
  /** The job it runs; undefined while it is idle or starts. */
  current: PendingJob<Job, Result> | undefined
  idle: boolean
  timer: NodeJS.Timeout | undefined
}

/**
 * Runs jobs in a few worker threads, one at a time in each. A job that passes its deadline, or brings its worker down,
 * fails alone: the worker is replaced and the queue goes on. Threads start with the first jobs that need them.
 */
export class WorkerPool<Job, Result> {
  readonly #options: WorkerPoolOptions
  readonly #threads = new Set<Thread<Job, Result>>()
  readonly #queue: PendingJob<Job, Result>[] = []
  #closed = false

  constructor(options: WorkerPoolOptions) {
    this.#options = options
  }

  /** Rejects with a `PoolFailure`, or with an error whose message the job gave. */
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

  /** Ends all threads; jobs under way and in the queue fail. */
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
    const worker = new Worker(module, { resourceLimits })
    const thread: Thread<Job, Result> = { worker, current: undefined, idle: false, timer: undefined }
    this.#threads.add(thread)
    // Open requests keep the process alive, not the threads.
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
    this.#armTimeout(thread, this.#options.deadline)
  }

  #armTimeout(thread: Thread<Job, Result>, timeoutMs: number): void {
    thread.timer = setTimeout(() => {
      this.#fail(thread, 'deadline_exceeded')
      void thread.worker.terminate()
    }, timeoutMs)
    thread.timer.unref()
  }

  #onReply(thread: Thread<Job, Result>, reply: WorkerReply<Result>): void {
    // A reply that crossed with the end of its deadline comes too late.
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

  /** Takes a thread out and fails what it ran; one that never became ready fails the job it was started for. */
  #fail(thread: Thread<Job, Result>, code: PoolFailureCode): void {
    clearTimeout(thread.timer)
    this.#threads.delete(thread)
    const failed = thread.current ?? (thread.idle ? undefined : this.#queue.shift())
    failed?.reject(new PoolFailure(code))
    if (this.#queue.length > 0 && !this.#closed) this.#start()
  }
}
