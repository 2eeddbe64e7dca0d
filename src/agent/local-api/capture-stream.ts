import type { ServerResponse } from 'node:http'
import type { Capture, CaptureStore } from '../inspector/capture-store.ts'
import { captureView } from './views.ts'

const GATHER_MS = 100
const ALIVE_MS = 15_000
/** Unsent bytes at which a reader counts as too slow: it is told to start over instead of being waited for. */
const MOST_UNSENT = 1024 * 1024

/**
 * Sends captures as server-sent events while they happen (docs/local-api.md). Changes are gathered for a moment, and a
 * slow reader misses some, so that watching costs traffic nothing.
 */
export function streamCaptures(
  response: ServerResponse,
  store: CaptureStore,
  tunnelName: string | undefined,
): void {
  response.writeHead(200, {
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.write('retry: 2000\n\nevent: ready\ndata: {}\n\n')

  const changed = new Set<Capture>()
  let timer: NodeJS.Timeout | undefined
  let lagging = false

  const send = () => {
    timer = undefined
    if (response.writableLength > MOST_UNSENT) lagging = true
    else {
      if (lagging) response.write('event: lagged\ndata: {}\n\n')
      lagging = false
      let text = ''
      for (const capture of changed) {
        text += `event: request\nid: ${capture.id}\ndata: ${JSON.stringify(captureView(capture, true))}\n\n`
      }
      response.write(text)
    }
    changed.clear()
  }
  const stop = store.follow(
    (capture) => {
      if (tunnelName !== undefined && capture.tunnelName !== tunnelName) return
      changed.add(capture)
      timer ??= setTimeout(send, GATHER_MS)
    },
    () => {
      changed.clear()
      response.write('event: clear\ndata: {}\n\n')
    },
  )
  const alive = setInterval(() => response.write(': alive\n\n'), ALIVE_MS)
  response.on('close', () => {
    stop()
    clearTimeout(timer)
    clearInterval(alive)
  })
}
