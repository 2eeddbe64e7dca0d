import type { Worker } from 'node:worker_threads'
import { startThread } from '../../../base/threads/start-thread.ts'
import { StoreUnavailable } from '../../store.ts'
import { translateError } from './sqlite-errors.ts'
import type { SqliteWriter, SqliteWriterOptions } from './sqlite-writer.ts'

type WriterMethod = Exclude<keyof SqliteWriter, 'database'>

/** A message to the thread. */
export interface WriterCall {
  readonly method: WriterMethod
  readonly args: readonly unknown[]
}

/** The reply to a call; replies come in the order of the calls. */
export type WriterReply =
  | { readonly result: unknown }
  | { readonly error: { readonly message: string; readonly code: string; readonly errcode: number } }

interface PendingCall {
  resolve(result: never): void
  reject(error: unknown): void
}

/** Runs a `SqliteWriter` in its own thread: only that thread ever waits for the disk. Starts with the first call. */
export class SqliteWriterThread {
  readonly #options: SqliteWriterOptions
  readonly #pending: PendingCall[] = []
  #worker: Worker | undefined
  #closed = false

  constructor(options: SqliteWriterOptions) {
    this.#options = options
  }

  call<M extends WriterMethod>(
    method: M,
    ...args: Parameters<SqliteWriter[M]>
  ): Promise<ReturnType<SqliteWriter[M]>> {
    if (this.#closed) return Promise.reject(new StoreUnavailable('The store is closed.'))
    this.#worker ??= this.#start()
    // Pending calls keep the process alive, not the thread.
    if (this.#pending.length === 0) this.#worker.ref()
    this.#worker.postMessage({ method, args } satisfies WriterCall)
    return new Promise((resolve, reject) => this.#pending.push({ resolve, reject }))
  }

  /** Closes the connection after the calls so far. */
  async close(): Promise<void> {
    const closing = this.#worker && this.call('close')
    this.#closed = true
    await closing
  }

  #start(): Worker {
    const worker = startThread(new URL('./sqlite-writer-worker.ts', import.meta.url), {
      workerData: this.#options,
    })
    worker.unref()
    worker.on('message', (reply: WriterReply) => {
      const { resolve, reject } = this.#pending.shift()!
      if (this.#pending.length === 0) worker.unref()
      if ('result' in reply) resolve(reply.result as never)
      else reject(translateError(Object.assign(new Error(reply.error.message), reply.error)))
    })
    let reason = 'its thread ended'
    worker.on('error', ({ message }) => {
      reason = message
    })
    worker.on('exit', () => {
      this.#worker = undefined
      for (const { reject } of this.#pending.splice(0))
        reject(new StoreUnavailable(`The database ${this.#options.file} cannot be used: ${reason}.`))
    })
    return worker
  }
}
