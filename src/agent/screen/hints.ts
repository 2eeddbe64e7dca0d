import {
  describeUnresolved,
  isLocalDomain,
  resolvesLocally,
  type SystemLookup,
} from '../../base/local-domain.ts'
import { isRootTrusted, TRUST_HINT } from '../../base/trusted-root.ts'
import type { Agent } from '../agent.ts'

/** Advice about the printed URLs: the finding, then one line for each remedy. */
export type Hint = readonly [finding: string, ...remedies: string[]]

/**
 * Watches for URLs on a local domain that do not open everywhere, and tells each reason once: the private root is not
 * trusted, or the system does not resolve the name. The returned function stops it.
 */
export function followHints(agent: Agent, onHint: (hint: Hint) => void, lookup?: SystemLookup): () => void {
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
