import type { StaticBackend } from '../../resources/index.ts'
import type { Kept } from '../compile/snapshot.ts'
import type { BackendBuild } from './context.ts'

/** Passes traffic to a fixed address that the server itself can reach. */
export const staticAddress: BackendBuild<Kept<typeof StaticBackend>> = (record, world) => {
  const target = world.address(record)
  return {
    online: () => true,
    first: () => target,
    next: (tried) => (tried.includes(target) ? undefined : target),
  }
}
