import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import type { Measurement } from './load.ts'

/** What makes measurements comparable; a change starts a new file. */
export interface RunSettings {
  readonly commit: string
  readonly rounds: number
  readonly seconds: number
}

/** One measurement with what it cost. */
export interface Sample extends Measurement {
  readonly load: string
  readonly candidate: string
  readonly round: number
  /** CPU seconds of the candidate's programs. */
  readonly cpu: number
  /** Resident MiB at the end, by part. */
  readonly memory: Readonly<Record<string, number>>
  /** The share of the processors that other machines on the same hardware took. */
  readonly stolen: number
}

/** The samples of a run in a file with one line each, so that a run that was stopped continues where it stopped. */
export class Results {
  #samples: Sample[] = []
  readonly #file: string
  readonly settings: RunSettings

  constructor(file: string, settings: RunSettings) {
    this.#file = file
    this.settings = settings
    const header = JSON.stringify(settings)
    const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
    if (lines[0] === header) this.#samples = lines.slice(1).filter(Boolean).map(parseSample)
    else writeFileSync(file, `${header}\n`)
  }

  add(sample: Sample): void {
    this.#samples.push(sample)
    appendFileSync(this.#file, `${JSON.stringify(sample)}\n`)
  }

  has(load: string, candidate: string, round: number): boolean {
    return this.of(load, candidate).some((sample) => sample.round === round)
  }

  /** The candidates measured under a load, in the order in which they were first measured. */
  candidates(load: string): string[] {
    return [
      ...new Set(this.#samples.filter((sample) => sample.load === load).map(({ candidate }) => candidate)),
    ]
  }

  of(load: string, candidate: string): Sample[] {
    return this.#samples.filter((sample) => sample.load === load && sample.candidate === candidate)
  }

  /** The highest share of the processors that other machines took in a round, and in nine of ten rounds. */
  get stolen(): { readonly max: number; readonly ninetieth: number } {
    const shares = this.#samples.map(({ stolen }) => stolen).sort((a, b) => a - b)
    return { max: shares.at(-1) ?? 0, ninetieth: shares[Math.floor(shares.length * 0.9)] ?? 0 }
  }

  /** The median over the rounds, or undefined when there is none. */
  median(load: string, candidate: string, value: (sample: Sample) => number | undefined): number | undefined {
    const values = this.of(load, candidate)
      .map(value)
      .filter((number) => number !== undefined && Number.isFinite(number))
    return median(values as number[])
  }

  /** The most memory of each part of a candidate at the end of any of these loads, in MiB. */
  peakMemory(loads: readonly string[], candidate: string): Record<string, number> {
    const peak: Record<string, number> = {}
    for (const { memory } of loads.flatMap((load) => this.of(load, candidate)))
      for (const [part, mib] of Object.entries(memory)) peak[part] = Math.max(peak[part] ?? 0, mib)
    return peak
  }
}

function parseSample(line: string): Sample {
  return JSON.parse(line) as Sample
}

function median(values: readonly number[]): number | undefined {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  if (sorted.length === 0) return undefined
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1]! + sorted[middle]!) / 2
}
