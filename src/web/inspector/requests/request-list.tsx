import {
  type KeyboardEvent,
  type MouseEvent,
  memo,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from 'react'
import type { CaptureView } from '../../../agent/local-api/page-data.ts'
import { LocalTime } from '../../shared/time.tsx'
import { formatBytes, formatDuration, stripPort } from '../../shared/units.ts'
import { decodePath } from '../message/decoded-path.ts'

const NARROW = matchMedia('(max-width: 640px)')
const OVERSCAN_ROWS = 4

interface Props {
  captures: readonly CaptureView[]
  selected: string | undefined
  onSelect(id: string): void
  onOpen(): void
  /** The last rows are about to be shown. */
  onEnd(): void
}

/** The list of requests. Only visible rows are rendered, so ten thousand cost no more than forty. */
export function RequestList({ captures, selected, onSelect, onOpen, onEnd }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const rowHeight = useRowHeight()
  const [{ first, count }, setWindow] = useState({ first: 0, count: 40 })
  const anchor = useRef<{ id: string; offset: number } | undefined>(undefined)

  const measure = () => {
    const element = box.current
    if (!element) return
    const top = Math.floor(element.scrollTop / rowHeight)
    const firstRow = Math.max(0, top - OVERSCAN_ROWS)
    const rowCount = Math.ceil(element.clientHeight / rowHeight) + 2 * OVERSCAN_ROWS
    setWindow((previous) =>
      previous.first === firstRow && previous.count === rowCount
        ? previous
        : { first: firstRow, count: rowCount },
    )
    if (firstRow + rowCount >= captures.length) onEnd()
    const capture = captures[top]
    anchor.current =
      element.scrollTop > 0 && capture
        ? { id: capture.id, offset: element.scrollTop - top * rowHeight }
        : undefined
  }

  // biome-ignore lint/correctness/useExhaustiveDependencies: measures again when the rows or their height change.
  useLayoutEffect(() => {
    const element = box.current
    const { current } = anchor
    // New rows are inserted at the top: restores the position of a list that is scrolled down.
    if (element && current) {
      const index = captures.findIndex(({ id }) => id === current.id)
      if (index >= 0) element.scrollTop = index * rowHeight + current.offset
    }
    measure()
  }, [captures, rowHeight])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the observer only needs the element.
  useEffect(() => {
    const observer = new ResizeObserver(measure)
    observer.observe(box.current!)
    return () => observer.disconnect()
  }, [])
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls when the selection moves, not when rows do.
  useEffect(() => {
    const element = box.current
    const index = captures.findIndex(({ id }) => id === selected)
    if (!element || index < 0) return
    const top = index * rowHeight
    if (top < element.scrollTop) element.scrollTop = top
    else if (top + rowHeight > element.scrollTop + element.clientHeight)
      element.scrollTop = top + rowHeight - element.clientHeight
  }, [selected])

  const click = (event: MouseEvent) => {
    const id = (event.target as HTMLElement).closest<HTMLElement>('[data-id]')?.dataset.id
    if (id === undefined) return
    onSelect(id)
    onOpen()
  }
  const keyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && selected !== undefined) onOpen()
  }
  const rows = captures.slice(first, first + count)
  const active = rows.some(({ id }) => id === selected) ? `row-${selected}` : undefined
  return (
    <>
      <div className="columns" aria-hidden="true">
        <span>Status</span>
        <span>Method</span>
        <span>Path</span>
        <span className="duration">Duration</span>
        <span className="size">Size</span>
        <span className="ip">Client</span>
        <span className="time">Time</span>
      </div>
      <div
        className="rows"
        ref={box}
        onScroll={measure}
        role="listbox"
        tabIndex={0}
        aria-label="Captured requests, newest first"
        aria-activedescendant={active}
        onClick={click}
        onKeyDown={keyDown}
      >
        <div className="all" role="presentation" style={{ height: captures.length * rowHeight }}>
          {rows.map((capture, index) => (
            <Row
              // biome-ignore lint/suspicious/noArrayIndexKey: rows that scroll out are reused, which is cheaper than creating new ones.
              key={(first + index) % count}
              capture={capture}
              top={(first + index) * rowHeight}
              position={first + index + 1}
              total={captures.length}
              selected={capture.id === selected}
            />
          ))}
        </div>
      </div>
    </>
  )
}

interface RowProps {
  capture: CaptureView
  top: number
  position: number
  total: number
  selected: boolean
}

const Row = memo(function Row({ capture, top, position, total, selected }: RowProps) {
  const { request, response } = capture
  return (
    <div
      id={`row-${capture.id}`}
      data-id={capture.id}
      className={`row${selected ? ' selected' : ''}`}
      role="option"
      tabIndex={-1}
      aria-selected={selected}
      aria-posinset={position}
      aria-setsize={total}
      style={{ transform: `translateY(${top}px)` }}
    >
      <StatusCode capture={capture} />
      <span className="method chip">{request.method}</span>
      <span className="path" title={request.uri}>
        {capture.pinned && (
          <span className="pin" role="img" aria-label="Pinned">
            ★
          </span>
        )}
        <bdi>{decodePath(request.uri)}</bdi>
      </span>
      <span className="duration">{capture.in_flight ? '…' : formatDuration(capture.duration)}</span>
      <span className="size">{response ? formatBytes(response.body_size) : ''}</span>
      <span className="ip">{stripPort(capture.remote_addr)}</span>
      <span className="time">
        <LocalTime value={capture.start} dateless />
      </span>
    </div>
  )
})

/** The status code of an exchange, coloured by class. */
export function StatusCode({ capture }: { capture: CaptureView }) {
  const { response, in_flight, error } = capture
  if (response) {
    return (
      <span
        className={`code chip s${Math.floor(response.status_code / 100)}${error ? ' cut' : ''}`}
        title={error}
      >
        {response.status_code}
      </span>
    )
  }
  return (
    <span className={`code chip ${in_flight ? 'waiting' : 's5'}`} title={error}>
      {in_flight ? '···' : 'ERR'}
    </span>
  )
}

function useRowHeight(): number {
  const [narrow, setNarrow] = useState(NARROW.matches)
  useEffect(() => {
    const onChange = () => setNarrow(NARROW.matches)
    NARROW.addEventListener('change', onChange)
    return () => NARROW.removeEventListener('change', onChange)
  }, [])
  return narrow ? 58 : 34
}
