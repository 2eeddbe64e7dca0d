import { availableParallelism, cpus, loadavg, totalmem } from 'node:os'
import type { Candidate } from './candidates.ts'
import type { Measured } from './load.ts'
import { SSH_CLIENT } from './platform.ts'

/** One kind of load, run on every candidate that can take it. */
export interface Case {
  readonly name: string
  readonly unit: 'requests/s' | 'MB/s'
  run(candidate: Candidate): Promise<Measured> | undefined
}

/** What every candidate did with a load, round by round. */
export interface Result {
  readonly case: Case
  readonly rounds: ReadonlyMap<string, readonly (Measured & { cpu: number })[]>
}

/** KiB for each idle connection, by part. */
export interface Idle {
  readonly name: string
  readonly kib: Readonly<Record<string, number>>
}

export interface Findings {
  readonly results: readonly Result[]
  readonly idle: readonly Idle[]
  readonly rounds: number
  readonly seconds: number
}

/** What we set out to reach, as ratios to the anchors of the same run. */
const TARGETS: readonly { of: RegExp; against: string; least: number; who?: string }[] = [
  { of: /^128 B, keep-alive, 50/, against: 'OpenSSH -R', least: 1.2 },
  { of: /^128 B, keep-alive, 50/, against: 'nginx hop', least: 0.35 },
  { of: /^128 B, keep-alive, 50/, against: 'official SDK', least: 1.5 },
  { of: /^128 B, new connections, 50/, against: 'OpenSSH -R', least: 0.8 },
  { of: /^TCP down, 1/, against: 'OpenSSH -R', least: 1 },
  { of: /^TCP up, 1/, against: 'OpenSSH -R', least: 0.85 },
  { of: /^TCP down, 4/, against: 'OpenSSH -R', least: 1 },
  { of: /^TCP up, 4/, against: 'OpenSSH -R', least: 1 },
  { who: SSH_CLIENT, of: /^128 B, keep-alive, 50/, against: 'OpenSSH -R', least: 0.5 },
  { who: SSH_CLIENT, of: /^TCP down, 1/, against: 'OpenSSH -R', least: 0.5 },
  { who: SSH_CLIENT, of: /^TCP up, 1/, against: 'OpenSSH -R', least: 0.5 },
]
const P50_TARGET_MS = 0.35
const IDLE_TARGET_KIB = 8

/** The whole report as Markdown. */
export function report(findings: Findings): string {
  return `${[intro(findings), targets(findings), ...findings.results.map(caseTable), idleTable(findings.idle)].join('\n\n')}\n`
}

function intro({ rounds, seconds }: Findings): string {
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

function targets({ results, idle }: Findings): string {
  const rows = TARGETS.flatMap(({ of, against, least, who = 'Adit' }) => {
    const result = results.find(({ case: { name } }) => of.test(name))
    const ours = result && rate(result, who)
    const theirs = result && rate(result, against)
    if (ours === undefined || theirs === undefined) return []
    const ratio = ours / theirs
    return [
      row(
        `${who === 'Adit' ? '' : `${who}: `}${result!.case.name}`,
        `${least} × ${against}`,
        ratio.toFixed(2),
        ratio >= least ? 'yes' : '**no**',
      ),
    ]
  })
  const single = results.find(({ case: { name } }) => name === '128 B, keep-alive, 1 connection')
  const p50 = median(single?.rounds.get('Adit')?.map(({ p50 = 0 }) => p50) ?? [])
  if (p50 !== undefined)
    rows.push(
      row(
        'p50 at 1 connection',
        `≤ ${P50_TARGET_MS} ms`,
        `${p50.toFixed(2)} ms`,
        p50 <= P50_TARGET_MS ? 'yes' : '**no**',
      ),
    )
  for (const [part, kib] of Object.entries(idle.find(({ name }) => name === 'Adit')?.kib ?? {}))
    rows.push(
      row(
        `idle connection, ${part}`,
        `≤ ${IDLE_TARGET_KIB} KiB`,
        `${kib.toFixed(1)} KiB`,
        kib <= IDLE_TARGET_KIB ? 'yes' : '**no**',
      ),
    )
  return ['## Targets', '', row('Load', 'Target', 'Reached', 'Met'), '|---|---|---|---|', ...rows].join('\n')
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
      const theirs = rate(result, against)
      return theirs === undefined ? '–' : told(rate(result, candidate)! / theirs)
    }
    const cost = median(rounds.map(({ cpu, count }) => (cpu / count) * (isBulk ? 1e9 : 1e5)))!
    const times = isBulk
      ? []
      : (['p50', 'p99'] as const).map((key) => median(rounds.map((one) => one[key] ?? 0))!.toFixed(2))
    const shown = candidate === 'direct' ? '–' : told(cost)
    return row(
      candidate,
      rate(result, candidate)!.toFixed(0),
      share('nginx hop'),
      share('OpenSSH -R'),
      ...times,
      shown,
    )
  })
  return [`## ${name}`, '', row(...head), `|${head.map(() => '---|').join('')}`, ...rows].join('\n')
}

/** Nothing can be said of what did not answer once in its turn. */
function told(value: number): string {
  return Number.isFinite(value) ? value.toFixed(2) : '–'
}

function idleTable(idle: readonly Idle[]): string {
  const rows = idle.map(({ name, kib }) =>
    row(
      name,
      Object.entries(kib)
        .map(([part, value]) => `${part} ${value.toFixed(1)}`)
        .join(', '),
    ),
  )
  return [
    '## Memory of an idle connection',
    '',
    row('', 'KiB resident, over 1,000 connections'),
    '|---|---|',
    ...rows,
  ].join('\n')
}

function rate({ rounds }: Result, candidate: string): number | undefined {
  return median(rounds.get(candidate)?.map((one) => one.rate) ?? [])
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

function row(...cells: string[]): string {
  return `| ${cells.join(' | ')} |`
}
