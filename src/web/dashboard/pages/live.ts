import { useEffect, useState } from 'react'
import type { LiveTotals } from '../../../dashboard/page-data.ts'
import { openStream } from '../api.ts'
import { EventStreamParser } from './event-stream.ts'

/** Totals with their time of receipt (`performance.now()`). */
export interface Sample extends LiveTotals {
  readonly receivedAt: number
}

/** The history of a plot, in samples of one second. */
export const MAX_SAMPLES = 120
const RETRY_DELAY_MS = 2000
// The server sends one sample per second.
const SILENCE_TIMEOUT_MS = 6000

/** The samples of the last two minutes, and the state of the stream. */
export interface Live {
  readonly samples: readonly Sample[]
  readonly state: 'connecting' | 'live' | 'lost'
}

// Lets the overview continue its plots after navigating back to it.
let cachedSamples: readonly Sample[] = []

/** Follows the traffic of the account; with an edge, also that of its routes. */
export function useLive(edgeId?: string): Live {
  const [live, setLive] = useState<Live>(() => ({
    samples: edgeId === undefined ? dropStale(cachedSamples) : [],
    state: 'connecting',
  }))
  useEffect(() => {
    const controller = new AbortController()
    const path = `/dashboard/api/live${edgeId === undefined ? '' : `?edge=${encodeURIComponent(edgeId)}`}`
    const append = (totals: LiveTotals) =>
      setLive(({ samples }) => {
        const next = [...dropStale(samples), { ...totals, receivedAt: performance.now() }].slice(-MAX_SAMPLES)
        if (edgeId === undefined) cachedSamples = next
        return { samples: next, state: 'live' }
      })
    void followStream(path, controller.signal, append, () =>
      setLive(({ samples }) => ({ samples, state: 'lost' })),
    )
    return () => controller.abort()
  }, [edgeId])
  return live
}

/** Drops samples after a long gap: rates across it would be wrong. */
function dropStale(samples: readonly Sample[]): readonly Sample[] {
  const last = samples.at(-1)
  return last && performance.now() - last.receivedAt < 10_000 ? samples : []
}

async function followStream(
  path: string,
  signal: AbortSignal,
  onTotals: (totals: LiveTotals) => void,
  onLost: () => void,
): Promise<void> {
  while (!signal.aborted) {
    let [received, timedOut] = [false, false]
    const streamController = new AbortController()
    const onSilence = () => {
      timedOut = true
      streamController.abort()
    }
    let timer = setTimeout(onSilence, SILENCE_TIMEOUT_MS)
    try {
      const parser = new EventStreamParser((data) => {
        received = true
        clearTimeout(timer)
        timer = setTimeout(onSilence, SILENCE_TIMEOUT_MS)
        onTotals(JSON.parse(data) as LiveTotals)
      })
      for await (const text of openStream(path, AbortSignal.any([signal, streamController.signal])))
        parser.push(text)
    } catch {
      if (signal.aborted) return
    } finally {
      clearTimeout(timer)
    }
    // The server ends each stream after a minute; a stream that has delivered data is reopened at once.
    if (received && !timedOut) continue
    onLost()
    await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS))
  }
}

/**
 * A key that changes whenever lists of edges, backends, domains or tunnels need a reload. Its parts only grow: a list
 * loaded between two samples may contain a tunnel that neither of them counted.
 */
export function versionOf(sample: Sample | undefined): string {
  return sample === undefined ? '' : `${sample.revision} ${sample.deletions} ${sample.online}`
}

/** The rate per second between consecutive samples. */
export function ratesOf(samples: readonly Sample[], totalOf: (totals: Sample) => number): number[] {
  return samples.slice(1).map((sample, index) => {
    const previous = samples[index]!
    const seconds = Math.max(0.2, (sample.receivedAt - previous.receivedAt) / 1000)
    // A decrease means the server restarted: its counters began at zero.
    const delta = totalOf(sample) - totalOf(previous)
    return (delta < 0 ? totalOf(sample) : delta) / seconds
  })
}
