import { useEffect, useState } from 'react'
import { openStream } from '../api.ts'
import { EventStreamParser } from './event-lines.ts'

/** What the server tells each second: totals since its start, and what is open now. */
export interface LiveTotals {
  readonly requests: number
  readonly connections: number
  readonly bytes_in: number
  readonly bytes_out: number
  readonly statuses: readonly number[]
  readonly open_requests: number
  readonly open_connections: number
  readonly sessions: number
  readonly tunnels: number
  /** Another one when other tunnels are online. */
  readonly online: string
  /** Grows when edges, backends, domains or addresses of the account are made or changed. */
  readonly revision: number
  /** Grows when such a thing is deleted, in any account. */
  readonly deletions: number
  /** Only when an edge was asked for. */
  readonly places?: readonly { id: string; requests: number; connections: number; refusals: number }[]
  readonly broken?: readonly { id: string; module: string; reason: string }[]
}

/** The same with when it came, in milliseconds of this page. */
export interface Sample extends LiveTotals {
  readonly receivedAt: number
}

/** How long a plot reaches back, in samples of a second. */
export const MAX_SAMPLES = 120
const RETRY_DELAY_MS = 2000
// One is due each second.
const SILENCE_TIMEOUT_MS = 6000

/** What is known of the last two minutes; samples come once a second while the page is in view. */
export interface Live {
  readonly samples: readonly Sample[]
  readonly state: 'connecting' | 'live' | 'lost'
}

// The overview goes on where it was left when somebody comes back to it.
let cachedSamples: readonly Sample[] = []

/** Follows the traffic of the account; with an edge, that of its places as well. */
export function useLive(edgeId?: string): Live {
  const [live, setLive] = useState<Live>(() => ({
    samples: edgeId === undefined ? dropStale(cachedSamples) : [],
    state: 'connecting',
  }))
  useEffect(() => {
    const abort = new AbortController()
    const path = `/dashboard/api/live${edgeId === undefined ? '' : `?edge=${encodeURIComponent(edgeId)}`}`
    const append = (totals: LiveTotals) =>
      setLive(({ samples }) => {
        const next = [...dropStale(samples), { ...totals, receivedAt: performance.now() }].slice(-MAX_SAMPLES)
        if (edgeId === undefined) cachedSamples = next
        return { samples: next, state: 'live' }
      })
    void followStream(path, abort.signal, append, () =>
      setLive(({ samples }) => ({ samples, state: 'lost' })),
    )
    return () => abort.abort()
  }, [edgeId])
  return live
}

/** Totals are of no use across a restart of the server or a long gap. */
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
    const streamAbort = new AbortController()
    const onSilence = () => {
      timedOut = true
      streamAbort.abort()
    }
    let timer = setTimeout(onSilence, SILENCE_TIMEOUT_MS)
    try {
      const parser = new EventStreamParser((data) => {
        received = true
        clearTimeout(timer)
        timer = setTimeout(onSilence, SILENCE_TIMEOUT_MS)
        onTotals(JSON.parse(data) as LiveTotals)
      })
      for await (const text of openStream(path, AbortSignal.any([signal, streamAbort.signal])))
        parser.push(text)
    } catch {
      if (signal.aborted) return
    } finally {
      clearTimeout(timer)
    }
    // The server ends each stream after a while; one that has told something is simply opened again.
    if (received && !timedOut) continue
    onLost()
    await new Promise((resolve) => setTimeout(resolve, RETRY_DELAY_MS))
  }
}

/** What changes whenever lists of edges, backends, domains or tunnels have to be read again. */
export function versionOf(sample: Sample | undefined): string {
  return sample === undefined
    ? ''
    : `${sample.revision} ${sample.deletions} ${sample.online} ${sample.sessions}`
}

/** What was added from each sample to the next, per second. */
export function ratesOf(samples: readonly Sample[], totalOf: (totals: Sample) => number): number[] {
  return samples.slice(1).map((sample, index) => {
    const previous = samples[index]!
    const seconds = Math.max(0.2, (sample.receivedAt - previous.receivedAt) / 1000)
    // The server began anew: what it has counted since is all there is.
    const delta = totalOf(sample) - totalOf(previous)
    return (delta < 0 ? totalOf(sample) : delta) / seconds
  })
}
