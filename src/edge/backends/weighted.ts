import type { WeightedBackend } from '../../resources/index.ts'
import type { Kept } from '../compile/snapshot.ts'
import type { Choice } from './balancer.ts'
import type { BackendBuild } from './context.ts'

interface Share {
  readonly child: Choice
  readonly weight: number
  /** What it is owed; whoever is owed most is next. */
  credit: number
}

/**
 * Shares traffic by weight, spread as evenly as can be: over the sum of the weights each child gets exactly its part.
 * What has weight 0 or nobody online gets nothing, and the others share its part.
 */
export const weighted: BackendBuild<Kept<typeof WeightedBackend>> = ({ backends }, world) => {
  const shares: Share[] = Object.entries(backends)
    .filter(([, weight]) => weight > 0)
    .map(([id, weight]) => ({ child: world.child(id), weight, credit: 0 }))
  const byWeight = shares.toSorted((a, b) => b.weight - a.weight)

  return {
    online: () => shares.some(({ child }) => child.online()),
    first() {
      let total = 0
      let best: Share | undefined
      for (const share of shares) {
        if (!share.child.online()) {
          // Whoever comes back starts anew, and is not given what was missed.
          share.credit = 0
          continue
        }
        total += share.weight
        share.credit += share.weight
        if (best === undefined || share.credit > best.credit) best = share
      }
      if (best === undefined) return undefined
      best.credit -= total
      return best.child.first()
    },
    next(tried) {
      for (const { child } of byWeight) {
        const target = child.next(tried)
        if (target !== undefined) return target
      }
      return undefined
    },
  }
}
