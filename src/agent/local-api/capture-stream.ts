import type { ServerResponse } from 'node:http'
import type { Capture, CaptureStore } from '../inspector/capture-store.ts'
import type { FrameLog } from '../inspector/frame-log.ts'
import { captureView, framesSummary, frameView } from './views.ts'

const GATHER_MS = 100
const ALIVE_MS = 15_000
/** Unsent bytes at which a reader counts as too slow: it is told to start over instead of being waited for. */
const MOST_UNSENT = 1024 * 1024

/** What a reader wants to be told of. */
export interface StreamOptions {
  /** Only what came through this tunnel. */
  tunnelName: string | undefined
  /** With messages and events themselves, not only that there are more of them. */
  frames: boolean
}

/**
 * Sends captures as server-sent events while they happen (docs/local-api.md). Changes are gathered for a moment, and a
 * slow reader misses some, so that watching costs traffic nothing.
 */
export function streamCaptures(
  response: ServerResponse,
  store: CaptureStore,
  { tunnelName, frames }: StreamOptions,
): void {
  response.writeHead(200, {
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.write('retry: 2000\n\nevent: ready\ndata: {}\n\n')

  const changed = new Set<Capture>()
  const framed = new Map<Capture, FrameLog>()
  /** The last frame told of each exchange; forgotten with the exchange. */
  const told = new WeakMap<Capture, number>()
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
      for (const [capture, log] of framed)
        text += `event: frames\ndata: ${JSON.stringify(news(capture, log))}\n\n`
      response.write(text)
    }
    changed.clear()
    framed.clear()
  }
  const news = (capture: Capture, log: FrameLog): object => {
    const summary = { id: capture.id, ...framesSummary(capture.id, log) }
    if (!frames) return summary
    const list = log.after(told.get(capture) ?? 0)
    told.set(capture, log.total)
    return { ...summary, frames: list.map(frameView) }
  }
  const wanted = (capture: Capture) => tunnelName === undefined || capture.tunnelName === tunnelName
  const stop = store.follow(
    (capture) => {
      if (!wanted(capture)) return
      changed.add(capture)
      timer ??= setTimeout(send, GATHER_MS)
    },
    () => {
      changed.clear()
      framed.clear()
      response.write('event: clear\ndata: {}\n\n')
    },
    (capture, log) => {
      if (!wanted(capture)) return
      framed.set(capture, log)
      timer ??= setTimeout(send, GATHER_MS)
    },
  )
  const alive = setInterval(() => response.write(': alive\n\n'), ALIVE_MS)
  response.on('close', () => {
    stop()
    clearTimeout(timer)
    clearInterval(alive)
  })
}
