import type { FailoverBackend } from '../../resources/index.ts'
import type { Kept } from '../compile/snapshot.ts'
import type { BackendBuild } from './context.ts'

/** The first that has somebody online; the next when that one cannot be connected to. A bad answer is an answer. */
export const failover: BackendBuild<Kept<typeof FailoverBackend>> = ({ backends }, world) => {
  const children = backends.map((id) => world.child(id))
  return {
    online: () => children.some((child) => child.online()),
    first() {
      for (const child of children) {
        const target = child.first()
        if (target !== undefined) return target
      }
      return undefined
    },
    next(tried) {
      for (const child of children) {
        const target = child.next(tried)
        if (target !== undefined) return target
      }
      return undefined
    },
  }
}
