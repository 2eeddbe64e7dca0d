import type { WeightedBackend } from '../../resources/index.ts'
import type { OwnedRecord } from '../compile/snapshot.ts'
import type { Balancer } from './balancer.ts'
import type { BackendBuilder } from './context.ts'

interface WeightedChild {
  readonly balancer: Balancer
  readonly weight: number
  /** What it is owed; whoever is owed most is next. */
  credit: number
}

/**
 * Shares traffic by weight, spread as evenly as can be: over the sum of the weights each child gets exactly its part.
 * What has weight 0 or nobody online gets nothing, and the others share its part.
 */
export const weighted: BackendBuilder<OwnedRecord<typeof WeightedBackend>> = ({ backends }, context) => {
  const children: WeightedChild[] = Object.entries(backends)
    .filter(([, weight]) => weight > 0)
    .map(([id, weight]) => ({ balancer: context.child(id), weight, credit: 0 }))
  const byWeight = children.toSorted((a, b) => b.weight - a.weight)

  return {
    isOnline: () => children.some(({ balancer }) => balancer.isOnline()),
    pick() {
      let total = 0
      let best: WeightedChild | undefined
      for (const candidate of children) {
        if (!candidate.balancer.isOnline()) {
          // Whoever comes back starts anew, and is not given what was missed.
          candidate.credit = 0
          continue
        }
        total += candidate.weight
        candidate.credit += candidate.weight
        if (best === undefined || candidate.credit > best.credit) best = candidate
      }
      if (best === undefined) return undefined
      best.credit -= total
      return best.balancer.pick()
    },
    pickNext(failedTargets) {
      for (const { balancer } of byWeight) {
        const target = balancer.pickNext(failedTargets)
        if (target !== undefined) return target
      }
      return undefined
    },
  }
}
