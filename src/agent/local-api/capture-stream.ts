import type { ServerResponse } from 'node:http'
import type { Agent } from '../agent.ts'
import type { Capture } from '../inspector/capture-store.ts'
import type { FrameLog } from '../inspector/frame-log.ts'
import { captureView, framesSummary, frameView } from './views.ts'

const FLUSH_INTERVAL_MS = 100
const KEEPALIVE_INTERVAL_MS = 15_000
/** Unsent bytes beyond which a reader misses updates and gets a `lagged` event instead. */
const MAX_UNSENT_BYTES = 1024 * 1024

/** The captures a reader subscribes to. */
export interface CaptureStreamOptions {
  /** Only exchanges of this tunnel. */
  tunnelName: string | undefined
  /** Sends the frames themselves, not only their count. */
  frames: boolean
}

/**
 * Streams captures as server-sent events (docs/local-api.md). Changes are batched, and a slow reader misses some, so
 * that a reader never slows down traffic.
 */
export function streamCaptures(
  response: ServerResponse,
  agent: Agent,
  { tunnelName, frames }: CaptureStreamOptions,
): void {
  response.writeHead(200, {
    'Content-Type': 'text/event-stream',
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  })
  response.write('retry: 2000\n\nevent: ready\ndata: {}\n\n')

  let status = ''
  const sendStatus = () => {
    if (agent.connection.status === status) return
    status = agent.connection.status
    response.write(`event: status\ndata: ${JSON.stringify({ status })}\n\n`)
  }
  sendStatus()
  const unfollowAgent = agent.follow(sendStatus)

  const changedCaptures = new Set<Capture>()
  const framedCaptures = new Map<Capture, FrameLog>()
  /** The index of the last frame sent, per exchange. */
  const lastSentFrame = new WeakMap<Capture, number>()
  let timer: NodeJS.Timeout | undefined
  let lagging = false

  const flush = () => {
    timer = undefined
    if (response.writableLength > MAX_UNSENT_BYTES) lagging = true
    else {
      if (lagging) response.write('event: lagged\ndata: {}\n\n')
      lagging = false
      let text = ''
      for (const capture of changedCaptures)
        if (capture.stored)
          text += `event: request\nid: ${capture.id}\ndata: ${JSON.stringify(captureView(capture, true))}\n\n`
      for (const [capture, log] of framedCaptures)
        text += `event: frames\ndata: ${JSON.stringify(framesView(capture, log))}\n\n`
      response.write(text)
    }
    changedCaptures.clear()
    framedCaptures.clear()
  }
  const framesView = (capture: Capture, log: FrameLog): object => {
    const summary = { id: capture.id, ...framesSummary(capture.id, log) }
    if (!frames) return summary
    const list = log.framesAfter(lastSentFrame.get(capture) ?? 0)
    lastSentFrame.set(capture, log.total)
    return { ...summary, frames: list.map(frameView) }
  }
  const matches = (capture: Capture) => tunnelName === undefined || capture.tunnelName === tunnelName
  const unfollow = agent.captures.follow(
    (capture) => {
      if (!matches(capture)) return
      changedCaptures.add(capture)
      timer ??= setTimeout(flush, FLUSH_INTERVAL_MS)
    },
    () => {
      changedCaptures.clear()
      framedCaptures.clear()
      response.write('event: clear\ndata: {}\n\n')
    },
    (capture, log) => {
      if (!matches(capture)) return
      framedCaptures.set(capture, log)
      timer ??= setTimeout(flush, FLUSH_INTERVAL_MS)
    },
  )
  const keepalive = setInterval(() => response.write(': alive\n\n'), KEEPALIVE_INTERVAL_MS)
  response.on('close', () => {
    unfollow()
    unfollowAgent()
    clearTimeout(timer)
    clearInterval(keepalive)
  })
}
