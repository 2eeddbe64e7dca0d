import { memo, useEffect, useId, useLayoutEffect, useRef, useState } from 'react'
import type { FramesSummary, FrameView } from '../../../agent/local-api/page-data.ts'
import { formatUtc, LocalTime } from '../../shared/time.tsx'
import { formatBytes } from '../../shared/units.ts'
import { listFrames } from '../api.ts'
import type { CaptureFeed } from '../capture-feed.ts'
import { HexView } from './hex-view.tsx'
import { LongText, TokenText } from './long-text.tsx'
import { fromBase64 } from './message.ts'
import { formatJson } from './pretty.ts'
import './frame-list.css'

const PAGE_SIZE = 500
/** The limit of rendered frames, so that a busy connection does not slow down the page. */
const MAX_FRAMES = 1000

interface FrameListState {
  summary: FramesSummary | undefined
  /** The latest frames, oldest first. */
  frames: readonly FrameView[]
}

/** The WebSocket messages or server-sent events of an exchange, updated live. */
export function FrameList({
  id,
  feed,
  kind,
}: {
  id: string
  feed: CaptureFeed
  kind: 'Messages' | 'Events'
}) {
  const title = useId()
  const { summary, frames } = useFrames(id, feed)
  const box = useRef<HTMLDivElement>(null)
  const atEnd = useRef(true)
  const onScroll = () => {
    const element = box.current!
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < 30
  }
  // Follows new frames only if the list is scrolled to its end.
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when frames arrive.
  useLayoutEffect(() => {
    if (box.current && atEnd.current) box.current.scrollTop = box.current.scrollHeight
  }, [frames])
  const missingCount = (summary?.total ?? 0) - frames.length
  return (
    <section className="message frames" aria-labelledby={title}>
      <div className="side">
        <h3 id={title}>{kind}</h3>
        {summary && (
          <p className="body-facts">
            {summary.total} · {summary.open ? 'open' : 'ended'}
          </p>
        )}
      </div>
      {missingCount > 0 && frames.length > 0 && (
        <p className="note">
          The latest {frames.length} are shown
          {summary!.dropped > 0 && `; ${summary!.dropped} older ones were dropped`}.
        </p>
      )}
      {summary?.stopped !== undefined && <p className="note">Decoding stopped: {summary.stopped}.</p>}
      {frames.length === 0 ? (
        <p className="note">None yet.</p>
      ) : (
        <div className="scrolls" ref={box} onScroll={onScroll}>
          <ol aria-labelledby={title}>
            {frames.map((frame) => (
              <FrameRow key={frame.index} frame={frame} />
            ))}
          </ol>
        </div>
      )}
    </section>
  )
}

const FrameRow = memo(function FrameRow({ frame }: { frame: FrameView }) {
  const [open, setOpen] = useState(false)
  const { from, kind, event, time, size, truncated, compressed, decoded } = frame
  return (
    <li className={`frame ${from}`}>
      <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
        <span className="from">
          <span aria-hidden="true">{from === 'client' ? '↑' : '↓'}</span>
          <span className="hidden">{from === 'client' ? 'from the client' : 'from the server'}</span>
        </span>
        <span className="kind">{event ?? kind}</span>
        <span className="preview">{formatPreview(frame)}</span>
        <span className="size">{formatBytes(size)}</span>
        <LocalTime value={time} dateless />
      </button>
      {open && (
        <div className="payload">
          <p className="note">
            {[
              frame.id !== undefined && `id ${frame.id}`,
              frame.fragments !== undefined && frame.fragments > 1 && `in ${frame.fragments} frames`,
              compressed && (decoded ? 'decompressed' : 'still compressed'),
              truncated && 'truncated',
              formatUtc(time),
            ]
              .filter(Boolean)
              .join(' · ')}
          </p>
          <Payload frame={frame} />
        </div>
      )}
    </li>
  )
})

function formatPreview({ text, base64, close_code, compressed, decoded }: FrameView): string {
  if (close_code !== undefined) return `${close_code} ${text}`
  if (text !== undefined) return text.slice(0, 200)
  if (compressed && !decoded) return 'compressed'
  return base64 === '' ? '' : formatHex(base64 ?? '')
}

/** The first bytes, as many as fit on a line. */
function formatHex(base64: string): string {
  const start = fromBase64(base64.slice(0, 32))
  return Array.from(start, (byte) => byte.toString(16).padStart(2, '0')).join(' ')
}

function Payload({ frame: { text, base64 } }: { frame: FrameView }) {
  if (text === undefined) return <HexView bytes={fromBase64(base64 ?? '')} />
  const pretty = /^\s*[[{]/.test(text) ? formatJson(text) : undefined
  if (pretty && 'tokens' in pretty) return <TokenText tokens={pretty.tokens} label="Payload" />
  return <LongText text={text} label="Payload" />
}

/** Loads frames when the feed announces them, one request at a time. */
function useFrames(id: string, feed: CaptureFeed): FrameListState {
  const [state, setState] = useState<FrameListState>({ summary: undefined, frames: [] })
  useEffect(() => {
    let stopped = false
    let running = false
    let reload = false
    let last = 0
    let frames: readonly FrameView[] = []
    const load = async () => {
      const { frames: page, ...summary } = await listFrames(id, last, PAGE_SIZE)
      if (stopped) return
      // Frames that the list would drop again are not loaded.
      const hidden = Math.max(0, summary.total - MAX_FRAMES)
      last = Math.max(page.at(-1)?.index ?? last, hidden)
      frames = [...frames, ...page].filter(({ index }) => index > hidden)
      setState({ summary, frames })
      if (page.length > 0 && last < summary.total) reload = true
    }
    const run = async () => {
      reload = true
      if (running) return
      running = true
      try {
        while (reload && !stopped) {
          reload = false
          await load()
        }
      } catch {
        // The exchange was evicted or the agent is unreachable; the page shows that elsewhere.
      } finally {
        running = false
      }
    }
    void run()
    const unfollow = feed.followFrames(id, () => void run())
    return () => {
      stopped = true
      unfollow()
    }
  }, [id, feed])
  return state
}
