import { joinHostPort } from '../../base/values/hostport.ts'
import { VERSION } from '../../base/version.ts'
import type { Agent } from '../agent.ts'
import type { MeterSnapshot } from '../metrics.ts'
import type { AgentTunnel } from '../tunnels/tunnel.ts'
import type { Hint } from './hints.ts'
import {
  breakWord,
  fitRows,
  type RankedRow,
  type ScreenRow,
  type Span,
  sanitize,
  truncate,
  wrapText,
} from './layout.ts'
import { qrRows } from './qr-rows.ts'
import { requestRows } from './request-rows.ts'

/** The terminal in characters. */
export interface ScreenSize {
  readonly columns: number
  readonly rows: number
}

/** What the screen shows beside the state of the agent. */
export interface ScreenView {
  readonly webUrl: string | undefined
  readonly hints: readonly Hint[]
  /** The tunnel whose QR code is shown; undefined for the overview. */
  readonly qrTunnel: AgentTunnel | undefined
}

const LABEL_WIDTH = { narrow: 19, wide: 30 }
const WIDE = 100
const MAX_REQUESTS = 50
/** Requests that are worth more than rows of rank `DISPENSABLE` and above. */
const MIN_REQUESTS = 5
const DISPENSABLE = 4
const REQUESTS_TITLE: ScreenRow = [{ text: 'HTTP Requests', bold: true }]

/** The rows of the live screen: at most `rows`, each at most `columns` characters. */
export function buildScreenRows(agent: Agent, view: ScreenView, { columns, rows }: ScreenSize): ScreenRow[] {
  if (view.qrTunnel)
    return [titleRow('c to go back', columns), ...qrRows(view.qrTunnel.publicUrl, columns, rows - 1)]
  const captures = agent.captures.enabled ? agent.captures.list(MAX_REQUESTS) : []
  const overview = overviewRows(agent, view, columns)
  const requestsHeight = captures.length === 0 ? 0 : Math.min(captures.length, MIN_REQUESTS) + 2
  const roomy = fitRows(overview, rows - requestsHeight, DISPENSABLE)
  const fitting = fitRows(roomy, rows, 1).map(({ row }) => row)
  if (fitting.length > rows) {
    const more = fitting.length - rows + 1
    return [
      ...fitting.slice(0, rows - 1),
      [{ text: truncate(`… ${more} more lines; enlarge the terminal`, columns) }],
    ]
  }
  const free = rows - fitting.length - 2
  return captures.length === 0 || free < 1
    ? fitting
    : [...fitting, [], REQUESTS_TITLE, ...requestRows(captures.slice(0, free), columns)]
}

function titleRow(keys: string, columns: number): ScreenRow {
  const title = 'adit'
  return [
    { text: title, color: 'cyan', bold: true },
    { text: `(${keys})`.padStart(Math.max(0, columns - title.length)) },
  ]
}

/** A region says little without its server. */
function formatRegion({ connection: { welcome }, settings: { location } }: Agent): string {
  const region = sanitize(welcome?.Extra.Region ?? '-')
  return `${region} (${joinHostPort(location.host, location.port)})`
}

function formatLatency({ connection: { latencyMs, legs } }: Agent): string {
  if (latencyMs === undefined) return '-'
  const latency = `${Math.round(latencyMs)}ms`
  return legs.length > 1 ? `${latency} (${legs.length} connections)` : latency
}

function overviewRows(agent: Agent, { webUrl, hints }: ScreenView, columns: number): RankedRow[] {
  const { connection } = agent
  const welcome = connection.welcome?.Extra
  const labelWidth = columns >= WIDE ? LABEL_WIDTH.wide : LABEL_WIDTH.narrow
  const rows: RankedRow[] = [
    { rank: 0, row: titleRow('q to quit, c for a QR code', columns) },
    { rank: 9, row: [] },
  ]
  const add = (rank: number, row: ScreenRow) => rows.push({ rank, row })
  const addLine = (rank: number, label: string, text: string, color?: Span['color']) => {
    for (const [index, line] of wrapText(text, columns - labelWidth).entries())
      add(rank, [
        { text: (index === 0 ? label : '').padEnd(labelWidth) },
        { text: line, ...(color ? { color } : {}) },
      ])
  }

  if (welcome?.Banner) {
    for (const line of wrapText(sanitize(welcome.Banner), columns)) add(7, [{ text: line, color: 'magenta' }])
    add(9, [])
  }
  addLine(0, 'Session Status', formatStatus(agent), STATUS_COLOURS[connection.status])
  if (welcome && welcome.SessionDuration > 0)
    addLine(5, 'Session Expires', `after ${formatSeconds(welcome.SessionDuration)}`)
  if (welcome?.AccountName) addLine(5, 'Account', formatAccount(welcome.AccountName, welcome.PlanName))
  const { available, installed } = agent.updater
  if (installed !== undefined)
    addLine(3, 'Update', `version ${installed} installed, restart to use it`, 'yellow')
  else if (available !== undefined)
    addLine(3, 'Update', `update available (version ${available}, Ctrl-U to update)`, 'yellow')
  addLine(6, 'Version', VERSION)
  addLine(6, 'Region', formatRegion(agent))
  addLine(5, 'Latency', formatLatency(agent))
  if (agent.settings.remoteManagement)
    addLine(8, 'Remote Management', 'on (stop, restart and update from the server)')
  if (webUrl !== undefined) addLine(2, 'Web Interface', webUrl)
  if (agent.tunnels.waitReason !== undefined)
    addLine(0, 'Waiting', sanitize(agent.tunnels.waitReason), 'yellow')
  for (const tunnel of agent.tunnels.list())
    for (const row of forwardingRows(tunnel, labelWidth, columns)) add(0, row)
  // Only the first remedy: the others are in the documentation.
  for (const [finding, remedy] of hints) {
    addLine(1, 'Hint', finding, 'yellow')
    if (remedy !== undefined) addLine(4, '', remedy)
  }
  add(8, [])
  for (const row of connectionRows(agent, Math.min(labelWidth, columns - CONNECTION_CELLS * CELL_WIDTH)))
    add(3, row)
  return rows
}

/** A URL is never cut: one that does not fit beside its label starts at the left edge, so that it can be copied. */
function forwardingRows(tunnel: AgentTunnel, labelWidth: number, columns: number): ScreenRow[] {
  const label = 'Forwarding'.padEnd(labelWidth)
  const indent = ''.padEnd(labelWidth)
  const width = columns - labelWidth
  const from = sanitize(tunnel.publicUrl || formatLabels(tunnel))
  const to = `-> ${tunnel.spec.upstream.text}${tunnel.online ? '' : ' (offline)'}`
  if (from.length + 1 + to.length <= width) return [[{ text: label }, { text: `${from} ${to}` }]]
  const toRows = wrapText(to, width).map((line) => [{ text: indent }, { text: line }])
  return from.length <= width
    ? [[{ text: label }, { text: from }], ...toRows]
    : [[{ text: label }], ...breakWord(from, columns).map((line) => [{ text: line }]), ...toRows]
}

function formatLabels({ spec }: AgentTunnel): string {
  return Object.entries(spec.labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join(',')
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

const CONNECTION_CELLS = 6
const CELL_WIDTH = 8

function connectionRows(agent: Agent, labelWidth: number): ScreenRow[] {
  const cell = (text: string) => text.padEnd(CELL_WIDTH)
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
    [
      { text: truncate('Connections', labelWidth).padEnd(labelWidth) },
      { text: header.map(cell).join('').trimEnd(), color: 'gray' },
    ],
    [{ text: ''.padEnd(labelWidth) }, { text: values.map(cell).join('').trimEnd() }],
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

function formatSeconds(seconds: number): string {
  return seconds < 3600 ? `${Math.round(seconds / 60)} minutes` : `${Math.round(seconds / 3600)} hours`
}
