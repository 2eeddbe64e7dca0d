import { BULK, DIRECTIONS, IDLE, LONG, LOSSY, NEW_CONNECTIONS, REQUESTS, STALLED } from './loads.ts'
import { PEERS } from './peers/index.ts'
import { SSH_CLIENT } from './platform.ts'
import type { Results, Sample } from './results.ts'

/** A value that is to be reached, as a ratio to another candidate, or load, of the same run. */
export interface Target {
  readonly loads: readonly string[]
  readonly who?: string
  readonly against: string
  readonly min?: number
  readonly max?: number
  /** What is compared; the rate unless given. */
  readonly value?: (sample: Sample) => number | undefined
  readonly of?: string
}

/** Stands for the fastest of the peers whose streams share one connection, as ours do. */
export const BEST_MULTIPLEXING = 'best multiplexing peer'
const MULTIPLEXING = PEERS.filter(({ multiplexes }) => multiplexes).map(({ name }) => name)

const KEEP_ALIVE = [REQUESTS('128 B', 50), REQUESTS('128 B', 200)]
const bulk = (streams: number) => DIRECTIONS.map((direction) => BULK(direction, streams))
const cpuPerItem = ({ cpu, count }: Sample) => cpu / count

export const TARGETS: readonly Target[] = [
  { loads: KEEP_ALIVE, against: 'frp tcp', min: 1.2 },
  { loads: KEEP_ALIVE, against: 'frp tcp', max: 0.65, value: cpuPerItem, of: 'CPU per request' },
  { loads: KEEP_ALIVE, against: 'chisel', min: 1 },
  { loads: KEEP_ALIVE, against: 'rathole noise', min: 1 },
  { loads: KEEP_ALIVE.slice(0, 1), against: 'OpenSSH -R', min: 1.2 },
  { loads: KEEP_ALIVE.slice(0, 1), against: 'nginx hop', min: 0.35 },
  { loads: KEEP_ALIVE.slice(0, 1), against: 'official SDK', min: 1.5 },
  { loads: [NEW_CONNECTIONS], against: 'rathole', min: 1 },
  { loads: [NEW_CONNECTIONS], against: 'OpenSSH -R', min: 0.8 },
  { loads: bulk(1), against: 'frp tcp', min: 1.2 },
  { loads: bulk(4), against: 'frp tcp', min: 1 },
  { loads: [...bulk(1), ...bulk(4)], against: 'OpenSSH -R', min: 1 },
  { who: SSH_CLIENT, loads: [...KEEP_ALIVE.slice(0, 1), ...bulk(1)], against: 'OpenSSH -R', min: 0.5 },
  ...['TCP', 'HTTP/1.1', 'HTTP/2'].flatMap((protocol) =>
    [1, 8].map((streams) => ({
      loads: DIRECTIONS.map((direction) => LONG(protocol, direction, streams)),
      against: BEST_MULTIPLEXING,
      min: streams === 1 ? 1.2 : 1,
    })),
  ),
  ...[1, 8].map((streams) => ({
    loads: DIRECTIONS.map((direction) => LOSSY(direction, streams)),
    against: BEST_MULTIPLEXING,
    min: 1,
  })),
]

/** A target compared with what was measured. */
export interface Verdict {
  readonly load: string
  readonly target: string
  readonly reached: string
  readonly isMet: boolean
}

/** Every target whose loads were measured. */
export function judge(results: Results): Verdict[] {
  const verdicts = TARGETS.flatMap((target) =>
    target.loads.flatMap((load) => judgeLoad(results, target, load) ?? []),
  )
  return [...verdicts, ...judgeLatency(results), ...judgeIdle(results), ...judgeStalled(results)]
}

function judgeLoad(results: Results, target: Target, load: string): Verdict | undefined {
  const { who = 'Adit', against, min, max, value = ({ rate }: Sample) => rate, of } = target
  const ours = results.median(load, who, value)
  const others = against === BEST_MULTIPLEXING ? MULTIPLEXING : [against]
  const [best] = others
    .map((name) => ({ name, value: results.median(load, name, value) }))
    .filter((other): other is { name: string; value: number } => other.value !== undefined)
    .sort((a, b) => b.value - a.value)
  if (ours === undefined || best === undefined) return undefined
  const ratio = ours / best.value
  const bound = min === undefined ? `≤ ${max}` : `≥ ${min}`
  return {
    load: [who === 'Adit' ? [] : who, load, of ?? []].flat().join(', '),
    target: `${bound} × ${against}${others.length > 1 ? ` (${best.name})` : ''}`,
    reached: ratio.toFixed(2),
    isMet: min === undefined ? ratio <= max! : ratio >= min,
  }
}

const MAX_P50_MS = 0.35
const MAX_TAIL = 5

function judgeLatency(results: Results): Verdict[] {
  const load = REQUESTS('128 B', 1)
  const [p50, p99] = [results.median(load, 'Adit', (s) => s.p50), results.median(load, 'Adit', (s) => s.p99)]
  if (p50 === undefined || p99 === undefined) return []
  const ratio = p99 / p50
  return [
    { load, target: `p50 ≤ ${MAX_P50_MS} ms`, reached: p50.toFixed(2), isMet: p50 <= MAX_P50_MS },
    { load, target: `p99 ≤ ${MAX_TAIL} × p50`, reached: ratio.toFixed(1), isMet: ratio <= MAX_TAIL },
  ]
}

/** Of server and agent together. */
const MAX_IDLE_KIB = 16

function judgeIdle(results: Results): Verdict[] {
  const kib = results.median(IDLE, 'Adit', ({ rate }) => rate)
  if (kib === undefined) return []
  const isMet = kib <= MAX_IDLE_KIB
  return [{ load: IDLE, target: `≤ ${MAX_IDLE_KIB} KiB each`, reached: kib.toFixed(1), isMet }]
}

const MIN_BESIDE_STALLED = 0.9

function judgeStalled(results: Results): Verdict[] {
  const [beside, alone] = [STALLED, LONG('HTTP/1.1', 'down', 1)].map((load) =>
    results.median(load, 'Adit', ({ rate }) => rate),
  )
  if (beside === undefined || alone === undefined) return []
  return [
    {
      load: STALLED,
      target: `≥ ${MIN_BESIDE_STALLED} × without them`,
      reached: (beside / alone).toFixed(2),
      isMet: beside / alone >= MIN_BESIDE_STALLED,
    },
  ]
}
