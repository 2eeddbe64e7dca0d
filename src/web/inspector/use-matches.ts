import { useDeferredValue, useEffect, useMemo, useState } from 'react'
import type { Capture } from './api.ts'
import { BodySearch } from './body-search.ts'
import { parseQuery } from './query.ts'

/** The captures a search finds; bodies are loaded when it needs them, so the answer may still grow. */
export function useMatches(captures: readonly Capture[], text: string) {
  const [progress, setProgress] = useState(0)
  const [bodies] = useState(() => new BodySearch(() => setProgress((count) => count + 1)))
  const deferred = useDeferredValue(text)
  // A verdict holds for as long as the search and the capture do; a changed capture is a new object.
  const { query, verdicts } = useMemo(
    () => ({ query: parseQuery(deferred), verdicts: new WeakMap<Capture, boolean>() }),
    [deferred],
  )

  const found = useMemo(() => {
    // Body texts are kept outside React; `progress` says that there are more of them.
    void progress
    if (deferred.trim() === '') return { matches: captures, open: [] }
    const open: Capture[] = []
    const matches = captures.filter((capture) => {
      const known = verdicts.get(capture)
      if (known !== undefined) return known
      const verdict = query.judge(capture, bodies.textOf(capture))
      if (verdict === 'needs body') open.push(capture)
      else verdicts.set(capture, verdict === 'yes')
      return verdict === 'yes'
    })
    return { matches, open }
  }, [captures, deferred, query, verdicts, bodies, progress])

  useEffect(() => {
    if (captures.length === 0) bodies.forget()
    bodies.want(found.open)
  }, [bodies, captures, found.open])
  return {
    matches: found.matches,
    searching: found.open.some(({ in_flight }) => !in_flight),
    problem: query.problem,
  }
}
