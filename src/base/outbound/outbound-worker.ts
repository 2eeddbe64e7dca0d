import { parentPort, workerData } from 'node:worker_threads'
import { createOutbound, OutboundProblem } from './outbound.ts'
import type { ThreadAnswer, ThreadCall, ThreadOptions } from './outbound-thread.ts'

// What runs in the thread of `outbound-thread.ts`.
const port = parentPort!
const outbound = createOutbound(workerData as ThreadOptions)
const running = new Map<number, AbortController>()

port.on('message', (call: ThreadCall) => {
  if ('abort' in call) running.get(call.abort)?.abort()
  else void serve(call)
})

async function serve({
  id,
  url,
  method,
  headers,
  body,
}: Exclude<ThreadCall, { abort: number }>): Promise<void> {
  const abort = new AbortController()
  running.set(id, abort)
  try {
    const { signal } = abort
    const answer = await outbound.fetch(url, {
      ...(method !== undefined && { method }),
      headers: [...headers],
      body,
      signal,
    })
    const { status, statusText } = answer
    const content = new Uint8Array(await answer.arrayBuffer())
    const response = { status, statusText, headers: [...answer.headers], body: content }
    port.postMessage({ id, response } satisfies ThreadAnswer, [content.buffer])
  } catch (error) {
    const { code, message } =
      error instanceof OutboundProblem ? error : new OutboundProblem('unreachable', String(error))
    if (!abort.signal.aborted) port.postMessage({ id, problem: { code, message } } satisfies ThreadAnswer)
  } finally {
    running.delete(id)
  }
}
