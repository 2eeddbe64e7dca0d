import { parentPort, workerData } from 'node:worker_threads'
import { createOutbound, OutboundProblem } from './outbound.ts'
import type { ThreadOptions, ThreadRequest, ThreadResponse } from './outbound-thread.ts'

// The worker of `outbound-thread.ts`.
const port = parentPort!
const outbound = createOutbound(workerData as ThreadOptions)
const running = new Map<number, AbortController>()

port.on('message', (call: ThreadRequest) => {
  if ('question' in call) port.postMessage({ alive: true } satisfies ThreadResponse)
  else if ('abort' in call) running.get(call.abort)?.abort()
  else void serve(call)
})

async function serve({
  id,
  url,
  method,
  headers,
  body,
}: Extract<ThreadRequest, { url: string }>): Promise<void> {
  const abort = new AbortController()
  running.set(id, abort)
  try {
    const { signal } = abort
    const fetched = await outbound.fetch(url, {
      ...(method !== undefined && { method }),
      headers: [...headers],
      body,
      signal,
    })
    const { status, statusText } = fetched
    const content = new Uint8Array(await fetched.arrayBuffer())
    const response = { status, statusText, headers: [...fetched.headers], body: content }
    port.postMessage({ id, response } satisfies ThreadResponse, [content.buffer])
  } catch (error) {
    const { code, message } =
      error instanceof OutboundProblem ? error : new OutboundProblem('unreachable', String(error))
    if (!abort.signal.aborted) port.postMessage({ id, problem: { code, message } } satisfies ThreadResponse)
  } finally {
    running.delete(id)
  }
}
