import type { StaticBackend } from '../../resources/index.ts'
import type { OwnedRecord } from '../contracts/snapshot.ts'
import type { BackendBuilder } from './context.ts'

/** Forwards traffic to a fixed address that the server dials itself. */
export const staticAddress: BackendBuilder<OwnedRecord<typeof StaticBackend>> = (record, context) => {
  const target = context.staticTarget(record)
  return {
    isOnline: () => true,
    pick: () => target,
    pickNext: (failedTargets) => (failedTargets.includes(target) ? undefined : target),
  }
}
