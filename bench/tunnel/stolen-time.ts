import { readFileSync } from 'node:fs'

/** Processor time of this machine since its start, in ticks. */
export interface ProcessorTime {
  readonly total: number
  /** What the hypervisor gave to others while a program of this machine was ready to run. */
  readonly stolen: number
}

/** The fields of the first line of /proc/stat up to the stolen time; guests are part of the first two. */
const FIELDS = 8

export function readProcessorTime(): ProcessorTime {
  const [line = ''] = readFileSync('/proc/stat', 'latin1').split('\n', 1)
  const ticks = line
    .trim()
    .split(/\s+/)
    .slice(1, FIELDS + 1)
    .map(Number)
  return { total: ticks.reduce((sum, value) => sum + value, 0), stolen: ticks[FIELDS - 1] ?? 0 }
}

/** The share of the processors that others took since then. */
export function stolenShare(since: ProcessorTime): number {
  const { total, stolen } = readProcessorTime()
  return total > since.total ? (stolen - since.stolen) / (total - since.total) : 0
}
