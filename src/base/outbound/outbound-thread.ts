import { Worker } from 'node:worker_threads'
import {
  answerOf,
  contentOf,
  type Outbound,
  type OutboundAnswer,
  type OutboundOptions,
  OutboundProblem,
  type OutboundProblemCode,
} from './outbound.ts'

/** What a client in another thread can be told. */
export type ThreadOptions = Omit<OutboundOptions, 'lookup'>

/** What the thread is asked. */
export type ThreadCall =
  | {
      readonly id: number
      readonly url: string
      readonly method: string | undefined
      readonly headers: readonly [string, string][]
      readonly body: string | Uint8Array | null
    }
  | { readonly abort: number }

/** What it answers. */
export interface ThreadAnswer {
  readonly id: number
  readonly response?: OutboundAnswer
  readonly problem?: { readonly code: OutboundProblemCode; readonly message: string }
}

interface Waiting {
  done(response: Response): void
  failed(error: unknown): void
}

/**
 * The guarded client in a thread of its own, for calls that go out as often as visitors come in. Its sockets are of
 * another kind than theirs: in one thread with them they make Node's code for both slower, and what they send is written
 * between the requests of visitors.
 */
export function createOutboundThread(options: ThreadOptions): Pick<Outbound, 'fetch' | 'close'> {
  const waiting = new Map<number, Waiting>()
  let worker: Worker | undefined
  let count = 0

  /** Made with the first call: not every node has somebody to call. */
  function start(): Worker {
    const started = new Worker(new URL('./outbound-worker.ts', import.meta.url), { workerData: options })
    // Whoever waits for an answer keeps the process alive, not the thread.
    started.unref()
    started.on('message', settle)
    started.on('error', () => {})
    started.on('exit', () => {
      if (worker === started) worker = undefined
      const problem = new OutboundProblem('unreachable', 'The thread for outbound calls ended.')
      for (const { failed } of waiting.values()) failed(problem)
      waiting.clear()
    })
    return started
  }

  function settle({ id, response, problem }: ThreadAnswer): void {
    const call = waiting.get(id)
    waiting.delete(id)
    if (response !== undefined) call?.done(answerOf(response))
    else call?.failed(new OutboundProblem(problem!.code, problem!.message))
  }

  return {
    async fetch(url, init = {}) {
      const { method, signal } = init
      signal?.throwIfAborted()
      worker ??= start()
      const thread = worker
      const id = ++count
      const { headers, body } = contentOf(init)
      // A copy of exactly what is sent, which changes hands: the caller may use its memory again.
      const sent = body instanceof Uint8Array ? new Uint8Array(body) : body
      const call: ThreadCall = { id, url: String(url), method, headers: [...headers], body: sent }
      thread.postMessage(call, sent instanceof Uint8Array ? [sent.buffer] : [])
      return new Promise<Response>((done, failed) => {
        const aborted = () => {
          waiting.delete(id)
          thread.postMessage({ abort: id } satisfies ThreadCall)
          failed(signal!.reason)
        }
        const over = () => signal?.removeEventListener('abort', aborted)
        waiting.set(id, {
          done(response) {
            over()
            done(response)
          },
          failed(error) {
            over()
            failed(error)
          },
        })
        signal?.addEventListener('abort', aborted)
      })
    },
    async close() {
      await worker?.terminate()
    },
  }
}
