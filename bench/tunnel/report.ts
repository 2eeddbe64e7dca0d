import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import {
  BULK,
  FIRST_BYTE,
  IDLE,
  LOCAL_LOADS,
  LONG,
  LONG_LOADS,
  LOSSY,
  LOSSY_LOADS,
  NEW_CONNECTIONS,
  REQUESTS,
  STALLED,
} from './loads.ts'
import { PEERS } from './peers/index.ts'
import type { Results, Sample } from './results.ts'
import { judge } from './targets.ts'
import type { Direction } from './transfer.ts'
import { describeVersions } from './versions.ts'

/** A column of a table: its head, and its cell for a candidate. */
type Column = readonly [head: string, cell: (candidate: string) => string]

/** Formats the measured part of docs/benchmarks.md. */
export function report(results: Results): string {
  const loads = [...LOCAL_LOADS, ...LONG_LOADS, ...LOSSY_LOADS].map(({ name }) => name)
  const candidates = [...new Set(loads.flatMap((load) => results.candidates(load)))]
  const table = (title: string, columns: readonly Column[]) => formatTable(title, candidates, columns)
  return [
    describeRun(results),
    table('Requests, everything on one machine', requestColumns(results)),
    table('Bulk and memory, everything on one machine', bulkColumns(results)),
    table('50 ms round trip between agent and server, MB/s', longColumns(results)),
    formatTargets(results),
  ]
    .filter((section) => section !== '')
    .join('\n\n')
}

function describeRun({ settings, stolen }: Results): string {
  const machine = `${availableParallelism()} × ${cpus()[0]?.model.trim() || process.arch}, ${Math.round(totalmem() / 2 ** 30)} GiB`
  const congestionControl = readFileSync('/proc/sys/net/ipv4/tcp_congestion_control', 'utf8').trim()
  const rows = [
    ['Date', `${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC, commit ${settings.commit}`],
    ['Machine', `${machine}, TCP ${congestionControl}, load average ${loadavg()[0]!.toFixed(1)} at the end`],
    ['Versions', describeVersions()],
    ['Rounds', `${settings.rounds} of ${settings.seconds} s, candidates alternating; medians`],
    [
      'Stolen by other machines',
      `at most ${percent(stolen.ninetieth)} of the processors in nine of ten rounds, ${percent(stolen.max)} in the worst`,
    ],
  ]
  return ['| | |', '|---|---|', ...rows.map((row) => formatRow(row))].join('\n')
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

function requestColumns(results: Results): Column[] {
  const latency = (load: string) => (candidate: string) =>
    joinCells(
      [results.median(load, candidate, (s) => s.p50), results.median(load, candidate, (s) => s.p99)],
      formatSmall,
    )
  const rate = (load: string) => rateCell(results, load)
  const cpu = (load: string) => (candidate: string) =>
    candidate === 'direct' ? '' : formatSmall(results.median(load, candidate, (s) => (s.cpu / s.count) * 1e5))
  const [one, fifty, many] = [1, 50, 200].map((connections) => REQUESTS('128 B', connections)) as [
    string,
    string,
    string,
  ]
  return [
    ['protection', protectionOf],
    ['1 connection: p50 / p99 ms', latency(one)],
    ['50: requests/s', rate(fifty)],
    ['p50 / p99 ms', latency(fifty)],
    ['CPU s per 100,000', cpu(fifty)],
    ['200: requests/s', rate(many)],
    ['p50 / p99 ms', latency(many)],
    ['CPU s per 100,000', cpu(many)],
    ['64 KB, 50: requests/s', rate(REQUESTS('64 KB', 50))],
    ['new connections/s', rate(NEW_CONNECTIONS)],
    ['CPU s per 100,000', cpu(NEW_CONNECTIONS)],
  ]
}

function bulkColumns(results: Results): Column[] {
  const cpu = (candidate: string) =>
    candidate === 'direct'
      ? ''
      : formatDirections((direction) =>
          results.median(BULK(direction, 1), candidate, (s) => (s.cpu / s.count) * 1e9),
        )
  const loads = LOCAL_LOADS.map(({ name }) => name)
  return [
    ['1 stream: MB/s down / up', directionsCell(results, (direction) => BULK(direction, 1))],
    ['CPU s per GB', cpu],
    ['4 streams: MB/s down / up', directionsCell(results, (direction) => BULK(direction, 4))],
    [
      'resident MiB, by part',
      (candidate) =>
        Object.entries(results.peakMemory(loads, candidate))
          .map(([part, mib]) => `${part} ${mib.toFixed(0)}`)
          .join(', '),
    ],
    [
      'KiB per idle connection',
      (candidate) => formatSmall(results.median(IDLE, candidate, ({ rate }) => rate)),
    ],
  ]
}

function longColumns(results: Results): Column[] {
  const transfers = (protocol: string, streams: number): Column => [
    `${protocol}, ${streams}`,
    directionsCell(results, (direction) => LONG(protocol, direction, streams)),
  ]
  const lossy = (streams: number): Column => [
    `0.5 % loss: TCP, ${streams}`,
    directionsCell(results, (direction) => LOSSY(direction, streams)),
  ]
  return [
    ['first byte, ms', (candidate) => formatSmall(results.median(FIRST_BYTE, candidate, (s) => s.p50))],
    ...['TCP', 'HTTP/1.1', 'HTTP/2'].flatMap((protocol) => [transfers(protocol, 1), transfers(protocol, 8)]),
    ['beside 200 stalled readers', rateCell(results, STALLED)],
    [
      'MiB these hold',
      (candidate) => {
        const growth = results.of(STALLED, candidate).map(({ growthMib = 0 }) => growthMib)
        return growth.length === 0 ? '' : Math.max(...growth).toFixed(0)
      },
    ],
    lossy(1),
    lossy(8),
  ]
}

function rateCell(results: Results, load: string) {
  return (candidate: string) => formatRate(results.median(load, candidate, ({ rate }: Sample) => rate))
}

function directionsCell(results: Results, loadOf: (direction: Direction) => string) {
  return (candidate: string) =>
    formatDirections((direction) => results.median(loadOf(direction), candidate, ({ rate }) => rate))
}

function formatDirections(measured: (direction: Direction) => number | undefined): string {
  return joinCells([measured('down'), measured('up')], formatRate)
}

function joinCells(
  values: readonly (number | undefined)[],
  format: (value: number | undefined) => string,
): string {
  return values.every((value) => value === undefined)
    ? ''
    : values.map((value) => format(value) || '–').join(' / ')
}

function protectionOf(candidate: string): string {
  if (candidate === 'official SDK' || candidate === 'Adit' || candidate === 'Adit, inspecting') return 'TLS'
  if (candidate.startsWith('OpenSSH')) return 'SSH'
  return PEERS.find(({ name }) => name === candidate)?.protection ?? ''
}

function formatTargets(results: Results): string {
  const verdicts = judge(results)
  if (verdicts.length === 0) return ''
  const rows = verdicts.map(({ load, target, reached, isMet }) =>
    formatRow([load, target, reached, isMet ? 'yes' : '**no**']),
  )
  return [
    '## Targets',
    '',
    formatRow(['Load', 'Target', 'Reached', 'Met']),
    '|---|---|---|---|',
    ...rows,
  ].join('\n')
}

/** A table with a row for each candidate that has a measured value, without columns that have none. */
function formatTable(title: string, candidates: readonly string[], columns: readonly Column[]): string {
  const [labels, measured] = [
    columns.filter(([head]) => head === 'protection'),
    columns.filter(
      ([head, cell]) => head !== 'protection' && candidates.some((candidate) => cell(candidate) !== ''),
    ),
  ]
  const rows = candidates.filter((candidate) => measured.some(([, cell]) => cell(candidate) !== ''))
  if (rows.length === 0) return ''
  const shown = [...labels, ...measured]
  return [
    `## ${title}`,
    '',
    formatRow(['', ...shown.map(([head]) => head)]),
    `|---|${shown.map(() => '---|').join('')}`,
    ...rows.map((candidate) => formatRow([candidate, ...shown.map(([, cell]) => cell(candidate) || '–')])),
  ].join('\n')
}

function formatRate(value: number | undefined): string {
  if (value === undefined) return ''
  return value >= 10 ? value.toFixed(0) : value.toFixed(1)
}

function formatSmall(value: number | undefined): string {
  if (value === undefined) return ''
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2)
}

function formatRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}
