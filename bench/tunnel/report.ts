import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import type { Candidate } from './candidates.ts'
import type { Measurement } from './load.ts'
import { SSH_CLIENT } from './platform.ts'

/** One kind of load, run on every candidate that supports it. */
export interface Case {
  readonly name: string
  readonly unit: 'requests/s' | 'MB/s'
  run(candidate: Candidate): Promise<Measurement> | undefined
}

/** The measurements of every candidate under a load, by round. */
export interface Result {
  readonly case: Case
  readonly rounds: ReadonlyMap<string, readonly (Measurement & { cpu: number })[]>
}

/** KiB per idle connection, by part. */
export interface Idle {
  readonly name: string
  readonly kib: Readonly<Record<string, number>>
}

export interface BenchmarkResults {
  readonly results: readonly Result[]
  readonly idle: readonly Idle[]
  readonly rounds: number
  readonly seconds: number
}

/** The performance targets, as ratios to other candidates of the same run. */
const TARGETS: readonly { loadName: RegExp; against: string; min: number; who?: string }[] = [
  { loadName: /^128 B, keep-alive, 50/, against: 'OpenSSH -R', min: 1.2 },
  { loadName: /^128 B, keep-alive, 50/, against: 'nginx hop', min: 0.35 },
  { loadName: /^128 B, keep-alive, 50/, against: 'official SDK', min: 1.5 },
  { loadName: /^128 B, new connections, 50/, against: 'OpenSSH -R', min: 0.8 },
  { loadName: /^TCP down, 1/, against: 'OpenSSH -R', min: 1 },
  { loadName: /^TCP up, 1/, against: 'OpenSSH -R', min: 0.85 },
  { loadName: /^TCP down, 4/, against: 'OpenSSH -R', min: 1 },
  { loadName: /^TCP up, 4/, against: 'OpenSSH -R', min: 1 },
  { who: SSH_CLIENT, loadName: /^128 B, keep-alive, 50/, against: 'OpenSSH -R', min: 0.5 },
  { who: SSH_CLIENT, loadName: /^TCP down, 1/, against: 'OpenSSH -R', min: 0.5 },
  { who: SSH_CLIENT, loadName: /^TCP up, 1/, against: 'OpenSSH -R', min: 0.5 },
]
const P50_TARGET_MS = 0.35
const IDLE_TARGET_KIB = 8

/** Formats the report as Markdown. */
export function report(findings: BenchmarkResults): string {
  return `${[intro(findings), targets(findings), ...findings.results.map(caseTable), idleTable(findings.idle)].join('\n\n')}\n`
}

function intro({ rounds, seconds }: BenchmarkResults): string {
  const machine = `${availableParallelism()} × ${cpus()[0]?.model.trim() || process.arch}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.versions.node}`
  return `# Benchmarks

Written by \`npm run bench:tunnel -- --write\`. Load generator, every proxy and the upstream (nginx) share one machine, so
a ratio to a neighbour in the same run says more than a rate, and processor time per request more than either.

| | |
|---|---|
| Date | ${new Date().toISOString().slice(0, 16).replace('T', ' ')} UTC |
| Machine | ${machine} |
| Load average at the end | ${loadavg()
    .map((value) => value.toFixed(1))
    .join(', ')} |
| Rounds | ${rounds} of ${seconds} s, candidates taking turns; medians |

*Adit* forwards without inspection, as all the others do; *Adit, inspecting* keeps requests for the inspector, which is
what an agent does unless told otherwise. *official SDK* is its agent on our server. The agent link is TLS.`
}

function targets({ results, idle }: BenchmarkResults): string {
  const rows = TARGETS.flatMap(({ loadName, against, min, who = 'Adit' }) => {
    const result = results.find(({ case: { name } }) => loadName.test(name))
    const ours = result && medianRate(result, who)
    const theirs = result && medianRate(result, against)
    if (ours === undefined || theirs === undefined) return []
    const ratio = ours / theirs
    return [
      formatRow(
        `${who === 'Adit' ? '' : `${who}: `}${result!.case.name}`,
        `${min} × ${against}`,
        ratio.toFixed(2),
        ratio >= min ? 'yes' : '**no**',
      ),
    ]
  })
  const single = results.find(({ case: { name } }) => name === '128 B, keep-alive, 1 connection')
  const p50 = median(single?.rounds.get('Adit')?.map(({ p50 = 0 }) => p50) ?? [])
  if (p50 !== undefined)
    rows.push(
      formatRow(
        'p50 at 1 connection',
        `≤ ${P50_TARGET_MS} ms`,
        `${p50.toFixed(2)} ms`,
        p50 <= P50_TARGET_MS ? 'yes' : '**no**',
      ),
    )
  for (const [part, kib] of Object.entries(idle.find(({ name }) => name === 'Adit')?.kib ?? {}))
    rows.push(
      formatRow(
        `idle connection, ${part}`,
        `≤ ${IDLE_TARGET_KIB} KiB`,
        `${kib.toFixed(1)} KiB`,
        kib <= IDLE_TARGET_KIB ? 'yes' : '**no**',
      ),
    )
  return ['## Targets', '', formatRow('Load', 'Target', 'Reached', 'Met'), '|---|---|---|---|', ...rows].join(
    '\n',
  )
}

function caseTable(result: Result): string {
  const { name, unit } = result.case
  const isBulk = unit === 'MB/s'
  const head = [
    ['', unit, 'of nginx hop', 'of OpenSSH -R'],
    isBulk ? ['CPU s per GB'] : ['p50 ms', 'p99 ms', 'CPU s per 100,000'],
  ].flat()
  const rows = [...result.rounds].map(([candidate, rounds]) => {
    const share = (against: string) => {
      const theirs = medianRate(result, against)
      return theirs === undefined ? '–' : formatRatio(medianRate(result, candidate)! / theirs)
    }
    const cost = median(rounds.map(({ cpu, count }) => (cpu / count) * (isBulk ? 1e9 : 1e5)))!
    const times = isBulk
      ? []
      : (['p50', 'p99'] as const).map((key) =>
          median(rounds.map((measurement) => measurement[key] ?? 0))!.toFixed(2),
        )
    const cpuText = candidate === 'direct' ? '–' : formatRatio(cost)
    return formatRow(
      candidate,
      medianRate(result, candidate)!.toFixed(0),
      share('nginx hop'),
      share('OpenSSH -R'),
      ...times,
      cpuText,
    )
  })
  return [`## ${name}`, '', formatRow(...head), `|${head.map(() => '---|').join('')}`, ...rows].join('\n')
}

/** A candidate without a single response has no ratio. */
function formatRatio(value: number): string {
  return Number.isFinite(value) ? value.toFixed(2) : '–'
}

function idleTable(idle: readonly Idle[]): string {
  const rows = idle.map(({ name, kib }) =>
    formatRow(
      name,
      Object.entries(kib)
        .map(([part, value]) => `${part} ${value.toFixed(1)}`)
        .join(', '),
    ),
  )
  return [
    '## Memory of an idle connection',
    '',
    formatRow('', 'KiB resident, over 1,000 connections'),
    '|---|---|',
    ...rows,
  ].join('\n')
}

function medianRate({ rounds }: Result, candidate: string): number | undefined {
  return median(rounds.get(candidate)?.map((measurement) => measurement.rate) ?? [])
}

function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1
    ? sorted[middle]
    : sorted.length === 0
      ? undefined
      : (sorted[middle - 1]! + sorted[middle]!) / 2
}

function formatRow(...cells: string[]): string {
  return `| ${cells.join(' | ')} |`
}
