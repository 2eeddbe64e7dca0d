import { once } from 'node:events'
import type { TestContext } from 'node:test'
import { WebSocket } from 'ws'
import { eventually } from './eventually.ts'

/** The environment of a process that is to be inspected. */
export const INSPECTABLE: Readonly<Record<string, string>> = { NODE_OPTIONS: '--inspect=127.0.0.1:0' }

/** What a process holds after a collection of all garbage, in bytes. */
export interface LiveMemory {
  /** Of V8: objects, and the buffers that they refer to. */
  readonly objects: number
  /** Resident outside of V8's heap: code, libraries, buffers, SQLite and all else that is allocated by C and C++. */
  readonly native: number
}

/** Connects to the inspector of a process; returns a function that collects its garbage and measures. One call at a time. */
export async function inspectMemory(
  t: TestContext,
  process: { readonly stderr: string },
): Promise<() => Promise<LiveMemory>> {
  let url: string | undefined
  await eventually(() => {
    url = /^Debugger listening on (ws:\S+)$/m.exec(process.stderr)?.[1]
    return url !== undefined
  }, 'the inspector listens')
  const inspector = new WebSocket(url!)
  t.after(() => inspector.terminate())
  await once(inspector, 'open')
  let id = 0
  const send = async (method: string, params = {}) => {
    id += 1
    inspector.send(JSON.stringify({ id, method, params }))
    const [message] = await once(inspector, 'message')
    return JSON.parse(String(message)).result
  }
  return async () => {
    await send('HeapProfiler.collectGarbage')
    const { result } = await send('Runtime.evaluate', {
      expression: 'process.memoryUsage()',
      returnByValue: true,
    })
    const { rss, heapTotal, heapUsed, arrayBuffers } = result.value
    return { objects: heapUsed + arrayBuffers, native: rss - heapTotal }
  }
}
