import { useEffect, useState } from 'react'
import { openStream } from '../api.ts'
import { EventLines } from './event-lines.ts'

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
  readonly at: number
}

/** How long a plot reaches back, in samples of a second. */
export const KEPT = 120
const AGAIN_MS = 2000
// One is due each second.
const SILENT_MS = 6000

/** What is known of the last two minutes; samples come once a second while the page is in view. */
export interface Live {
  readonly samples: readonly Sample[]
  readonly state: 'connecting' | 'live' | 'lost'
}

// The overview goes on where it was left when somebody comes back to it.
let remembered: readonly Sample[] = []

/** Follows the traffic of the account; with an edge, that of its places as well. */
export function useLive(edgeId?: string): Live {
  const [live, setLive] = useState<Live>(() => ({
    samples: edgeId === undefined ? fresh(remembered) : [],
    state: 'connecting',
  }))
  useEffect(() => {
    const stop = new AbortController()
    const path = `/dashboard/api/live${edgeId === undefined ? '' : `?edge=${encodeURIComponent(edgeId)}`}`
    const keep = (totals: LiveTotals) =>
      setLive(({ samples }) => {
        const kept = [...fresh(samples), { ...totals, at: performance.now() }].slice(-KEPT)
        if (edgeId === undefined) remembered = kept
        return { samples: kept, state: 'live' }
      })
    void follow(path, stop.signal, keep, () => setLive(({ samples }) => ({ samples, state: 'lost' })))
    return () => stop.abort()
  }, [edgeId])
  return live
}

/** Totals are of no use across a restart of the server or a long gap. */
function fresh(samples: readonly Sample[]): readonly Sample[] {
  const last = samples.at(-1)
  return last && performance.now() - last.at < 10_000 ? samples : []
}

async function follow(
  path: string,
  signal: AbortSignal,
  onTotals: (totals: LiveTotals) => void,
  onLost: () => void,
): Promise<void> {
  while (!signal.aborted) {
    let [told, silent] = [false, false]
    const end = new AbortController()
    const giveUp = () => {
      silent = true
      end.abort()
    }
    let timer = setTimeout(giveUp, SILENT_MS)
    try {
      const lines = new EventLines((data) => {
        told = true
        clearTimeout(timer)
        timer = setTimeout(giveUp, SILENT_MS)
        onTotals(JSON.parse(data) as LiveTotals)
      })
      for await (const text of openStream(path, AbortSignal.any([signal, end.signal]))) lines.push(text)
    } catch {
      if (signal.aborted) return
    } finally {
      clearTimeout(timer)
    }
    // The server ends each stream after a while; one that has told something is simply opened again.
    if (told && !silent) continue
    onLost()
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS))
  }
}

/** What changes whenever lists of edges, backends, domains or tunnels have to be read again. */
export function versionOf(sample: Sample | undefined): string {
  return sample === undefined
    ? ''
    : `${sample.revision} ${sample.deletions} ${sample.online} ${sample.sessions}`
}

/** What was added from each sample to the next, per second. */
export function ratesOf(samples: readonly Sample[], of: (totals: Sample) => number): number[] {
  return samples.slice(1).map((sample, index) => {
    const former = samples[index]!
    const seconds = Math.max(0.2, (sample.at - former.at) / 1000)
    // The server began anew: what it has counted since is all there is.
    const added = of(sample) - of(former)
    return (added < 0 ? of(sample) : added) / seconds
  })
}
