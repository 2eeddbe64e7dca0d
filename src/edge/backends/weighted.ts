import { pickWeighted, type WeightedCandidate } from '../../base/values/weighted-round-robin.ts'
import type { WeightedBackend } from '../../resources/index.ts'
import type { OwnedRecord } from '../contracts/snapshot.ts'
import type { Balancer } from './balancer.ts'
import type { BackendBuilder } from './context.ts'

interface WeightedChild extends WeightedCandidate {
  readonly balancer: Balancer
}

/** Shares traffic by weight. A child with weight 0 or without a target online gets nothing. */
export const weighted: BackendBuilder<OwnedRecord<typeof WeightedBackend>> = ({ backends }, context) => {
  const children: WeightedChild[] = Object.entries(backends)
    .filter(([, weight]) => weight > 0)
    .map(([id, weight]) => ({ balancer: context.child(id), weight, credit: 0 }))
  const byWeight = children.toSorted((a, b) => b.weight - a.weight)

  return {
    isOnline: () => children.some(({ balancer }) => balancer.isOnline()),
    pick: () => pickWeighted(children, ({ balancer }) => balancer.isOnline())?.balancer.pick(),
    pickNext(failedTargets) {
      for (const { balancer } of byWeight) {
        const target = balancer.pickNext(failedTargets)
        if (target !== undefined) return target
      }
      return undefined
    },
  }
}
