import { parseHead } from '../http1.ts'
import type { Capture } from '../inspector/capture-store.ts'
import { type ScreenRow, type Span, sanitize, truncate } from './layout.ts'

const METHOD_WIDTH = 7
const DURATION_WIDTH = 8
/** From this width on there is room for milliseconds, the time zone, reason phrases and client addresses. */
const WIDE = 100
const STATUS_WIDTH = { narrow: 3, wide: 24 }
/** An IPv4 address; a longer one takes room from the path. */
const MIN_ADDRESS_WIDTH = 15

/** One row for each request; the path gets the width that the other columns leave. */
export function requestRows(captures: readonly Capture[], width: number): ScreenRow[] {
  const wide = width >= WIDE
  const addresses = captures.map(({ remoteAddr }) => sanitize(remoteAddr))
  const addressWidth = wide ? Math.max(MIN_ADDRESS_WIDTH, ...addresses.map(({ length }) => length)) : 0
  const statusWidth = wide ? STATUS_WIDTH.wide : STATUS_WIDTH.narrow
  return captures.map((capture, index) => {
    const [method = '', path = ''] = parseHead(capture.request.head).line.split(' ')
    const time = formatClockTime(new Date(capture.startedAt), wide)
    const status = statusOf(capture, wide)
    const pathWidth =
      width - time.length - METHOD_WIDTH - statusWidth - DURATION_WIDTH - 4 - (wide ? addressWidth + 1 : 0)
    const duration = capture.response || capture.error ? formatNanoseconds(capture.durationNs) : ''
    return [
      { text: `${time} `, color: 'gray' },
      {
        text: `${sanitize(method).slice(0, METHOD_WIDTH).padEnd(METHOD_WIDTH)} ${truncate(sanitize(path), pathWidth).padEnd(pathWidth)} `,
      },
      { text: `${truncate(sanitize(status), statusWidth).padEnd(statusWidth)} `, ...statusColour(status) },
      {
        text: `${duration.padStart(DURATION_WIDTH)}${wide ? ` ${addresses[index]}` : ''}`,
        color: 'gray',
      },
    ]
  })
}

/** The code, with its reason phrase if there is room. */
function statusOf({ response, error }: Capture, wide: boolean): string {
  if (response) return parseHead(response.head).line.slice(9, wide ? undefined : 12)
  return error ? (wide ? 'no answer' : 'err') : ''
}

function statusColour(status: string): Pick<Span, 'color'> {
  const first = status[0]
  if (first === '2') return { color: 'green' }
  if (first === '3') return { color: 'cyan' }
  if (first === '4') return { color: 'yellow' }
  return status === '' ? {} : { color: 'red' }
}

/** Local time: `15:04:05`, or `15:04:05.000 CET` with the time zone, since screens are shared across zones. */
function formatClockTime(time: Date, wide: boolean): string {
  const clock = time.toTimeString().slice(0, 8)
  if (!wide) return clock
  const zone = time.toLocaleTimeString('en-US', { timeZoneName: 'short' }).split(' ').at(-1)
  return `${clock}.${String(time.getMilliseconds()).padStart(3, '0')} ${zone}`
}

function formatNanoseconds(nanoseconds: number): string {
  const milliseconds = nanoseconds / 1e6
  return milliseconds < 1000
    ? `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)}ms`
    : `${(milliseconds / 1000).toFixed(2)}s`
}
