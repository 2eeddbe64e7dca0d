import { VERSION } from '../../base/version.ts'
import type { Agent } from '../agent.ts'
import { parseHead } from '../http1.ts'
import type { Capture } from '../inspector/capture-store.ts'
import type { MeterSnapshot } from '../metrics.ts'

/** A styled part of a row. */
export interface Span {
  text: string
  color?: 'green' | 'yellow' | 'red' | 'cyan' | 'gray' | 'magenta'
  bold?: boolean
}

/** One line of the screen. */
export type ScreenRow = readonly Span[]

const LABEL_WIDTH = 30
const MAX_REQUESTS = 10
const PATH_WIDTH = 25

/** The lines of the live screen, each at most `width` characters. */
export function buildScreenRows(agent: Agent, webUrl: string | undefined, width: number): ScreenRow[] {
  const { connection } = agent
  const welcome = connection.welcome?.Extra
  const title = 'adit'
  const quit = '(Ctrl+C to quit)'
  const rows: ScreenRow[] = [
    [{ text: title, color: 'cyan', bold: true }, { text: quit.padStart(Math.max(0, width - title.length)) }],
    [],
  ]
  const addLine = (label: string, text: string, color?: Span['color']) => {
    rows.push([
      { text: label.padEnd(LABEL_WIDTH) },
      { text: truncate(text, width - LABEL_WIDTH), ...(color ? { color } : {}) },
    ])
  }

  if (welcome?.Banner) rows.push([{ text: truncate(sanitize(welcome.Banner), width), color: 'magenta' }], [])
  addLine('Session Status', formatStatus(agent), STATUS_COLOURS[connection.status])
  if (welcome && welcome.SessionDuration > 0)
    addLine('Session Expires', `after ${formatSeconds(welcome.SessionDuration)}`)
  if (welcome?.AccountName) addLine('Account', formatAccount(welcome.AccountName, welcome.PlanName))
  const { available, installed } = agent.updater
  if (installed !== undefined)
    addLine('Update', `version ${installed} installed, restart to use it`, 'yellow')
  else if (available !== undefined)
    addLine('Update', `update available (version ${available}, Ctrl-U to update)`, 'yellow')
  addLine('Version', VERSION)
  addLine('Region', sanitize(welcome?.Region ?? '-'))
  addLine('Latency', connection.latencyMs === undefined ? '-' : `${Math.round(connection.latencyMs)}ms`)
  if (agent.settings.remoteManagement)
    addLine('Remote Management', 'on (stop, restart and update from the server)')
  if (webUrl !== undefined) addLine('Web Interface', webUrl)
  if (agent.tunnels.waitReason !== undefined) addLine('Waiting', sanitize(agent.tunnels.waitReason), 'yellow')
  for (const tunnel of agent.tunnels.list()) {
    const from =
      tunnel.publicUrl ||
      Object.entries(tunnel.spec.labels ?? {})
        .map(([key, value]) => `${key}=${value}`)
        .join(',')
    addLine(
      'Forwarding',
      `${sanitize(from)} -> ${tunnel.spec.upstream.shown}${tunnel.online ? '' : ' (offline)'}`,
    )
  }
  rows.push([], ...connectionRows(agent))
  if (agent.captures.enabled && agent.captures.size > 0)
    rows.push([], ...requestRows(agent.captures.list(MAX_REQUESTS), width))
  return rows
}

const STATUS_COLOURS = { connecting: 'cyan', online: 'green', reconnecting: 'yellow', closed: 'red' } as const

function formatStatus({ connection }: Agent): string {
  const { status, lastError } = connection
  return lastError && status !== 'online'
    ? `${status} (${sanitize(lastError.message.split('\n')[0]!)})`
    : status
}

function formatAccount(name: string, plan: string): string {
  return plan ? `${sanitize(name)} (Plan: ${sanitize(plan)})` : sanitize(name)
}

function connectionRows(agent: Agent): ScreenRow[] {
  const cell = (text: string) => text.padEnd(8)
  let [open, total] = [0, undefined as MeterSnapshot | undefined]
  for (const { connections } of agent.tunnels.list()) {
    open += connections.gauge
    total = combine(total, connections.snapshot())
  }
  const seconds = (nanoseconds: number) => (nanoseconds / 1e9).toFixed(2)
  const header = ['ttl', 'opn', 'rt1', 'rt5', 'p50', 'p90']
  const values = [
    String(total?.count ?? 0),
    String(open),
    (total?.rate1 ?? 0).toFixed(2),
    (total?.rate5 ?? 0).toFixed(2),
    seconds(total?.p50 ?? 0),
    seconds(total?.p90 ?? 0),
  ]
  return [
    [{ text: 'Connections'.padEnd(LABEL_WIDTH) }, { text: header.map(cell).join(''), color: 'gray' }],
    [{ text: ''.padEnd(LABEL_WIDTH) }, { text: values.map(cell).join('') }],
  ]
}

/** Adds counts and rates; percentiles cannot be added, so the larger one is shown. */
function combine(a: MeterSnapshot | undefined, b: MeterSnapshot): MeterSnapshot {
  if (!a) return b
  return {
    ...b,
    count: a.count + b.count,
    rate1: a.rate1 + b.rate1,
    rate5: a.rate5 + b.rate5,
    p50: Math.max(a.p50, b.p50),
    p90: Math.max(a.p90, b.p90),
  }
}

function requestRows(captures: Capture[], width: number): ScreenRow[] {
  const rows: ScreenRow[] = [[{ text: 'HTTP Requests' }], [{ text: '-'.repeat(Math.min(13, width)) }], []]
  for (const capture of captures) {
    const [method = '', path = ''] = parseHead(capture.request.head).line.split(' ')
    const status = capture.response
      ? parseHead(capture.response.head).line.slice(9)
      : (capture.error && 'no answer') || ''
    const duration = capture.response || capture.error ? formatNanoseconds(capture.durationNs) : ''
    rows.push([
      { text: `${formatClockTime(new Date(capture.startedAt))} `, color: 'gray' },
      {
        text: `${sanitize(method).slice(0, 7).padEnd(8)}${truncate(sanitize(path), PATH_WIDTH).padEnd(PATH_WIDTH + 1)}`,
      },
      { text: truncate(sanitize(status), 24).padEnd(25), ...statusColour(status) },
      { text: `${duration.padStart(8)} ${sanitize(capture.remoteAddr)}`, color: 'gray' },
    ])
  }
  return rows
}

function statusColour(status: string): { color?: NonNullable<Span['color']> } {
  const first = status[0]
  if (first === '2') return { color: 'green' }
  if (first === '3') return { color: 'cyan' }
  if (first === '4') return { color: 'yellow' }
  return first === '5' || status === 'no answer' ? { color: 'red' } : {}
}

/** `15:04:05.000 CET`, with the time zone, since screens are shared across zones. */
function formatClockTime(time: Date): string {
  const zone = time.toLocaleTimeString('en-US', { timeZoneName: 'short' }).split(' ').at(-1)
  return `${time.toTimeString().slice(0, 8)}.${String(time.getMilliseconds()).padStart(3, '0')} ${zone}`
}

function formatNanoseconds(nanoseconds: number): string {
  const milliseconds = nanoseconds / 1e6
  return milliseconds < 1000
    ? `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)}ms`
    : `${(milliseconds / 1000).toFixed(2)}s`
}

function formatSeconds(seconds: number): string {
  return seconds < 3600 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3600)} hours`
}

function truncate(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`
}

/** Clients choose paths and servers choose banners: neither may send control sequences to the terminal. */
function sanitize(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g, '?')
}
