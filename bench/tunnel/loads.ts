import { setTimeout as sleep } from 'node:timers/promises'
import type { Candidate } from './candidates.ts'
import { type Measurement, measureBulk, measureNewConnections, measureRequests, openIdle } from './load.ts'
import { cpuSeconds, residentKib } from './processes.ts'
import {
  type BulkUpstream,
  type Direction,
  measureTransfer,
  openStalledDownloads,
  RAMP_UP_SECONDS,
} from './transfer.ts'
import { type BodySize, pathOf } from './upstream.ts'

/** One kind of load; `run` returns undefined for candidates that it does not fit. */
export interface Load {
  readonly name: string
  run(candidate: Candidate, seconds: number, bulk?: BulkUpstream): Promise<Measurement> | undefined
}

const IDLE_CONNECTIONS = 1000
const STALLED_READERS = 200
/** Beside many readers, one that goes on reading is told from one that stops by the megabytes that it has taken. */
const STALLED_RAMP_UP_SECONDS = 5

export const DIRECTIONS = ['down', 'up'] as const
export const REQUESTS = (body: BodySize, connections: number) =>
  `${body}, keep-alive, ${countOf(connections, 'connection')}`
export const NEW_CONNECTIONS = '128 B, new connections, 50 at once'
export const IDLE = 'idle connections'
export const BULK = (direction: Direction, streams: number) =>
  `TCP ${direction}, ${countOf(streams, 'stream')}`
export const LONG = (protocol: string, direction: Direction, streams: number) =>
  `50 ms: ${protocol} ${direction}, ${countOf(streams, 'stream')}`
export const FIRST_BYTE = '50 ms: first byte of a new connection'
export const STALLED = `50 ms: HTTP/1.1 down, 1 stream beside ${STALLED_READERS} stalled readers`
export const LOSSY = (direction: Direction, streams: number) =>
  `50 ms, 0.5 % loss: TCP ${direction}, ${countOf(streams, 'stream')}`

/** Loads on one machine. */
export const LOCAL_LOADS: readonly Load[] = [
  ...[1, 50, 200].map((connections) => requests('128 B', connections)),
  requests('64 KB', 50),
  {
    name: NEW_CONNECTIONS,
    run: ({ http }, seconds) => http && measureNewConnections(http, pathOf('128 B'), 50, { seconds }),
  },
  ...[1, 4].flatMap((streams) => DIRECTIONS.map((direction) => bulk(BULK, direction, streams, 0))),
  { name: IDLE, run: (candidate) => measureIdle(candidate) },
]

/** Loads over a link with a round trip of 50 ms. */
export const LONG_LOADS: readonly Load[] = [
  {
    name: FIRST_BYTE,
    run: ({ http }) => http && measureNewConnections(http, '/', 1, { requests: 20 }),
  },
  ...[1, 8].flatMap((streams) =>
    DIRECTIONS.flatMap((direction) => [
      bulk((...of) => LONG('TCP', ...of), direction, streams, RAMP_UP_SECONDS),
      transfer('HTTP/1.1', direction, streams),
      transfer('HTTP/2', direction, streams),
    ]),
  ),
  {
    name: STALLED,
    run: (candidate, seconds, upstream) => measureStalled(candidate, seconds, upstream!),
  },
]

/** Loads over a link that loses packets as well. */
export const LOSSY_LOADS: readonly Load[] = [1, 8].flatMap((streams) =>
  DIRECTIONS.map((direction) => bulk(LOSSY, direction, streams, RAMP_UP_SECONDS)),
)

function requests(body: BodySize, connections: number): Load {
  return {
    name: REQUESTS(body, connections),
    run: ({ http }, seconds) => http && measureRequests(http, pathOf(body), connections, seconds),
  }
}

function bulk(
  nameOf: (direction: Direction, streams: number) => string,
  direction: Direction,
  streams: number,
  rampUpSeconds: number,
): Load {
  return {
    name: nameOf(direction, streams),
    run: ({ tcp }, seconds) =>
      tcp === undefined ? undefined : measureBulk(tcp, direction, streams, { seconds, rampUpSeconds }),
  }
}

function transfer(protocol: 'HTTP/1.1' | 'HTTP/2', direction: Direction, streams: number): Load {
  return {
    name: LONG(protocol, direction, streams),
    run({ http, http2 }, seconds, upstream) {
      const target = protocol === 'HTTP/1.1' ? http : http2
      return target && measureTransfer(target, protocol, direction, streams, upstream!, { seconds })
    },
  }
}

/** KiB of resident memory per idle connection, after one response each. */
function measureIdle({ http, parts }: Candidate): Promise<Measurement> | undefined {
  if (http === undefined || Object.keys(parts).length === 0) return undefined
  return measureGrowth(parts, async () => openIdle(http, pathOf('128 B'), IDLE_CONNECTIONS)).then(
    ({ growth, close }) => {
      close()
      return { rate: growth / IDLE_CONNECTIONS, count: IDLE_CONNECTIONS }
    },
  )
}

/** One fast reader beside many that have stopped reading, and the memory that those hold. */
async function measureStalled(
  { http, parts }: Candidate,
  seconds: number,
  upstream: BulkUpstream,
): Promise<Measurement> {
  const { growth, close } = await measureGrowth(parts, async () => {
    const closeStalled = await openStalledDownloads(http!, STALLED_READERS)
    await settle(parts)
    return closeStalled
  })
  try {
    const measured = await measureTransfer(http!, 'HTTP/1.1', 'down', 1, upstream, {
      seconds,
      rampUpSeconds: STALLED_RAMP_UP_SECONDS,
    })
    return { ...measured, growthMib: growth / 1024 }
  } finally {
    close()
  }
}

async function measureGrowth(
  parts: Candidate['parts'],
  open: () => Promise<() => void>,
): Promise<{ growth: number; close: () => void }> {
  const before = sumResident(parts)
  const close = await open()
  return { growth: sumResident(parts) - before, close }
}

const MAX_SETTLE_MS = 60_000
const SETTLE_INTERVAL_MS = 500
const MAX_IDLE_CPU_SECONDS = 0.02

/**
 * Waits until a candidate has nothing more to do. Its memory would not tell: the kernel's buffers of stalled connections
 * take a few MB each first.
 */
async function settle(parts: Candidate['parts']): Promise<void> {
  const groups = [...new Set(Object.values(parts))]
  const deadline = performance.now() + MAX_SETTLE_MS
  let used = Number.POSITIVE_INFINITY
  while (used > MAX_IDLE_CPU_SECONDS && performance.now() < deadline) {
    const before = cpuSeconds(groups)
    await sleep(SETTLE_INTERVAL_MS)
    used = cpuSeconds(groups) - before
  }
}

function sumResident(parts: Candidate['parts']): number {
  return Object.values(parts).reduce((sum, group) => sum + residentKib(group), 0)
}

function countOf(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
