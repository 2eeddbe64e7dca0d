import type { FailoverBackend } from '../../resources/index.ts'
import type { OwnedRecord } from '../contracts/snapshot.ts'
import type { BackendBuilder } from './context.ts'

/**
 * Picks the first child with a target online, and the next one when a target is unreachable. An error response is a
 * response: it does not fail over.
 */
export const failover: BackendBuilder<OwnedRecord<typeof FailoverBackend>> = ({ backends }, context) => {
  const children = backends.map((id) => context.child(id))
  return {
    isOnline: () => children.some((child) => child.isOnline()),
    pick() {
      for (const child of children) {
        const target = child.pick()
        if (target !== undefined) return target
      }
      return undefined
    },
    pickNext(failedTargets) {
      for (const child of children) {
        const target = child.pickNext(failedTargets)
        if (target !== undefined) return target
      }
      return undefined
    },
  }
}
