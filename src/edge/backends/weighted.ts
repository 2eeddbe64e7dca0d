import type { WeightedBackend } from '../../resources/index.ts'
import type { OwnedRecord } from '../snapshot.ts'
import type { Balancer } from './balancer.ts'
import type { BackendBuilder } from './context.ts'

interface WeightedChild {
  readonly balancer: Balancer
  readonly weight: number
  /** Accumulated credit; the child with the most is picked next. */
  credit: number
}

/**
 * Smooth weighted round robin: over one full cycle each child gets exactly its share, spread evenly. A child with
 * weight 0 or without a target online gets nothing, and the others share its part.
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
          // A child that comes back online starts from zero and does not catch up on missed requests.
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
