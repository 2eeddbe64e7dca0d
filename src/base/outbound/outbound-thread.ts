import type { Worker } from 'node:worker_threads'
import { HangDetector } from '../process/hang-detector.ts'
import { startThread } from '../threads/start-thread.ts'
import {
  encodeRequest,
  type Outbound,
  type OutboundOptions,
  OutboundProblem,
  type OutboundProblemCode,
  type OutboundResponse,
  toResponse,
} from './outbound.ts'

/** The options that can be passed to a client in another thread. */
export type ThreadOptions = Omit<OutboundOptions, 'lookup'>

/** A message to the thread. */
export type ThreadRequest =
  | {
      readonly id: number
      readonly url: string
      readonly method: string | undefined
      readonly headers: readonly [string, string][]
      readonly body: string | Uint8Array | null
    }
  | { readonly abort: number }
  /** Answered by its event loop. */
  | { readonly question: 'alive' }

/** A message from the thread. */
export type ThreadResponse =
  | ({ readonly id: number } & (
      | { readonly response: OutboundResponse }
      | { readonly problem: { readonly code: OutboundProblemCode; readonly message: string } }
    ))
  | { readonly alive: true }

interface PendingCall {
  resolve(response: Response): void
  reject(error: unknown): void
}

/**
 * Runs the guarded client in its own thread, for calls as frequent as client requests (decision 97). In the thread of the
 * edge, its sockets of another class would slow down Node's stream code for both, and its writes would delay client
 * requests. The calls of a thread that hangs fail, and the next one starts another thread.
 */
export function createOutboundThread(
  options: ThreadOptions,
  module = new URL('./outbound-worker.ts', import.meta.url),
): Pick<Outbound, 'fetch' | 'close'> {
  const pending = new Map<number, PendingCall>()
  let worker: Worker | undefined
  /** While calls are pending, also those whose caller has given up and does not know why. */
  let hangDetector: HangDetector | undefined
  let lastId = 0

  /** Starts the thread with the first call: not every node makes calls. */
  function start(): Worker {
    const thread = startThread(module, { workerData: options })
    // Pending calls keep the process alive, not the thread.
    thread.unref()
    thread.on('message', onResponse)
    thread.on('error', () => {})
    thread.on('exit', () => {
      if (worker === thread) worker = undefined
      const problem = new OutboundProblem('unreachable', 'The thread for outbound calls ended.')
      unwatch()
      for (const { reject } of pending.values()) reject(problem)
      pending.clear()
    })
    return thread
  }

  function watch(thread: Worker): HangDetector {
    return new HangDetector({
      ask: () => thread.postMessage({ question: 'alive' } satisfies ThreadRequest),
      onHang: () => void thread.terminate(),
    })
  }

  function unwatch(): void {
    hangDetector?.stop()
    hangDetector = undefined
  }

  function onResponse(message: ThreadResponse): void {
    const call = 'id' in message ? pending.get(message.id) : undefined
    if ('id' in message) pending.delete(message.id)
    hangDetector?.onReply()
    if (pending.size === 0) unwatch()
    if ('alive' in message) return
    if ('response' in message) call?.resolve(toResponse(message.response))
    else call?.reject(new OutboundProblem(message.problem.code, message.problem.message))
  }

  return {
    async fetch(url, init = {}) {
      const { method, signal } = init
      signal?.throwIfAborted()
      worker ??= start()
      const thread = worker
      const id = ++lastId
      const { headers, body } = encodeRequest(init)
      // A copy that is transferred to the thread: the caller may reuse its memory.
      const bodyCopy = body instanceof Uint8Array ? new Uint8Array(body) : body
      const call: ThreadRequest = { id, url: String(url), method, headers: [...headers], body: bodyCopy }
      thread.postMessage(call, bodyCopy instanceof Uint8Array ? [bodyCopy.buffer] : [])
      return new Promise<Response>((done, failed) => {
        const onAbort = () => {
          pending.delete(id)
          thread.postMessage({ abort: id } satisfies ThreadRequest)
          failed(signal?.reason)
        }
        const cleanUp = () => signal?.removeEventListener('abort', onAbort)
        hangDetector ??= watch(thread)
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
