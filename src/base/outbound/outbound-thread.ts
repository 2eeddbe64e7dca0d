import { Worker } from 'node:worker_threads'
import {
  encodeRequest,
  type Outbound,
  type OutboundOptions,
  OutboundProblem,
  type OutboundProblemCode,
  type OutboundResponse,
  toResponse,
} from './outbound.ts'

/** What a client in another thread can be told. */
export type ThreadOptions = Omit<OutboundOptions, 'lookup'>

/** What the thread is asked. */
export type ThreadRequest =
  | {
      readonly id: number
      readonly url: string
      readonly method: string | undefined
      readonly headers: readonly [string, string][]
      readonly body: string | Uint8Array | null
    }
  | { readonly abort: number }

/** What it answers. */
export interface ThreadResponse {
  readonly id: number
  readonly response?: OutboundResponse
  readonly problem?: { readonly code: OutboundProblemCode; readonly message: string }
}

interface PendingCall {
  resolve(response: Response): void
  reject(error: unknown): void
}

/**
 * The guarded client in a thread of its own, for calls that go out as often as visitors come in. Its sockets are of
 * another kind than theirs: in one thread with them they make Node's code for both slower, and what they send is written
 * between the requests of visitors.
 */
export function createOutboundThread(options: ThreadOptions): Pick<Outbound, 'fetch' | 'close'> {
  const pending = new Map<number, PendingCall>()
  let worker: Worker | undefined
  let lastId = 0

  /** Made with the first call: not every node has somebody to call. */
  function start(): Worker {
    const thread = new Worker(new URL('./outbound-worker.ts', import.meta.url), { workerData: options })
    // Whoever waits for an answer keeps the process alive, not the thread.
    thread.unref()
    thread.on('message', onResponse)
    thread.on('error', () => {})
    thread.on('exit', () => {
      if (worker === thread) worker = undefined
      const problem = new OutboundProblem('unreachable', 'The thread for outbound calls ended.')
      for (const { reject } of pending.values()) reject(problem)
      pending.clear()
    })
    return thread
  }

  function onResponse({ id, response, problem }: ThreadResponse): void {
    const call = pending.get(id)
    pending.delete(id)
    if (response !== undefined) call?.resolve(toResponse(response))
    else call?.reject(new OutboundProblem(problem!.code, problem!.message))
  }

  return {
    async fetch(url, init = {}) {
      const { method, signal } = init
      signal?.throwIfAborted()
      worker ??= start()
      const thread = worker
      const id = ++lastId
      const { headers, body } = encodeRequest(init)
      // A copy of exactly what is sent, which changes hands: the caller may use its memory again.
      const bodyCopy = body instanceof Uint8Array ? new Uint8Array(body) : body
      const call: ThreadRequest = { id, url: String(url), method, headers: [...headers], body: bodyCopy }
      thread.postMessage(call, bodyCopy instanceof Uint8Array ? [bodyCopy.buffer] : [])
      return new Promise<Response>((done, failed) => {
        const onAbort = () => {
          pending.delete(id)
          thread.postMessage({ abort: id } satisfies ThreadRequest)
          failed(signal!.reason)
        }
        const cleanUp = () => signal?.removeEventListener('abort', onAbort)
        pending.set(id, {
          resolve(response) {
            cleanUp()
            done(response)
          },
          reject(error) {
            cleanUp()
            failed(error)
          },
        })
        signal?.addEventListener('abort', onAbort)
      })
    },
    async close() {
      await worker?.terminate()
    },
  }
}
