import type { StaticBackend } from '../../resources/index.ts'
import type { OwnedRecord } from '../compile/snapshot.ts'
import type { BackendBuilder } from './context.ts'

/** Passes traffic to a fixed address that the server itself can reach. */
export const staticAddress: BackendBuilder<OwnedRecord<typeof StaticBackend>> = (record, context) => {
  const target = context.staticTarget(record)
  return {
    isOnline: () => true,
    pick: () => target,
    pickNext: (failedTargets) => (failedTargets.includes(target) ? undefined : target),
  }
}
