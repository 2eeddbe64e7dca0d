import { isRootTrusted, TRUST_HINT } from '../../base/process/trusted-root.ts'
import {
  describeUnresolved,
  isLocalDomain,
  resolvesLocally,
  type SystemLookup,
} from '../../base/values/local-domain.ts'
import type { Agent } from '../agent.ts'
import { type FirstProblem, problemSearches } from '../tunnels/first-problems.ts'

/** Advice about the running tunnels: the finding, then one line for each remedy. */
export type Hint = readonly [finding: string, ...remedies: string[]]

/** Watches the tunnels and gives each hint once, and passes on notices. The returned function stops it. */
export function followHints(agent: Agent, onHint: (hint: Hint) => void, lookup?: SystemLookup): () => void {
  const unfollows = [
    followUrls(agent, onHint, lookup),
    followFirstProblems(agent, ({ hint }) => onHint([hint])),
    agent.followNotices((notice) => {
      const [finding = '', ...remedies] = notice.split('\n')
      onHint([finding, ...remedies])
    }),
  ]
  return () => {
    for (const unfollow of unfollows) unfollow()
  }
}

/** Watches for what the first visitor of a tunnel would run into, and reports it once. */
export function followFirstProblems(agent: Agent, onProblem: (problem: FirstProblem) => void): () => void {
  const checked = new Set<string>()
  const check = () => {
    for (const { spec } of agent.tunnels.list()) {
      for (const [key, search] of problemSearches(spec)) {
        if (checked.has(key)) continue
        checked.add(key)
        void search().then((problem) => {
          if (problem !== undefined) onProblem(problem)
        })
      }
    }
  }
  check()
  return agent.follow(check)
}

/**
 * Watches for URLs on a local domain that do not open everywhere, and tells each reason once: the private root is not
 * trusted, or the system does not resolve the name.
 */
function followUrls(agent: Agent, onHint: (hint: Hint) => void, lookup?: SystemLookup): () => void {
  const { announced } = agent.settings.location
  let trustChecked = false
  let resolveChecked = false
  const check = () => {
    for (const { publicUrl } of agent.tunnels.list()) {
      const url = URL.parse(publicUrl)
      if (url === null || !/^https?:$/.test(url.protocol) || !isLocalDomain(url.hostname)) continue
      if (url.protocol === 'https:' && !trustChecked) {
        trustChecked = true
        if (announced?.caFile === undefined || !isRootTrusted(announced.caFile)) onHint([TRUST_HINT])
      }
      if (!resolveChecked) {
        resolveChecked = true
        void resolvesLocally(url.hostname, lookup).then((resolved) => {
          if (!resolved) onHint(describeUnresolved(publicUrl))
        })
      }
    }
  }
  check()
  return agent.follow(check)
}
