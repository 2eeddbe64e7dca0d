import { useDeferredValue, useEffect, useMemo, useState } from 'react'
import type { CaptureView } from '../../../agent/local-api/page-data.ts'
import { BodySearch } from '../message/body-search.ts'
import { parseQuery } from './query.ts'

/** The captures that match a search; matches may be added while bodies are being loaded. */
export function useMatches(captures: readonly CaptureView[], search: string) {
  const [progress, setProgress] = useState(0)
  const [bodies] = useState(() => new BodySearch(() => setProgress((count) => count + 1)))
  const deferred = useDeferredValue(search)
  // Results are cached per search and capture; a changed capture is a new object.
  const { query, results } = useMemo(
    () => ({ query: parseQuery(deferred), results: new WeakMap<CaptureView, boolean>() }),
    [deferred],
  )

  const result = useMemo(() => {
    // Body texts are stored outside React; `progress` signals new ones.
    void progress
    if (deferred.trim() === '') return { matches: captures, pending: [] }
    const pending: CaptureView[] = []
    const matches = captures.filter((capture) => {
      const cached = results.get(capture)
      if (cached !== undefined) return cached
      const match = query.match(capture, bodies.getText(capture))
      if (match === 'needs body') pending.push(capture)
      else results.set(capture, match === 'yes')
      return match === 'yes'
    })
    return { matches, pending }
  }, [captures, deferred, query, results, bodies, progress])

  useEffect(() => {
    if (captures.length === 0) bodies.clear()
    bodies.load(result.pending)
  }, [bodies, captures, result.pending])
  return {
    matches: result.matches,
    searching: result.pending.some(({ in_flight }) => !in_flight),
    problem: query.problem,
  }
}
