import type { TunnelGroupBackend } from '../../resources/index.ts'
import type { Target } from '../backend.ts'
import type { Kept } from '../compile/snapshot.ts'
import type { Tunnel } from '../tunnels.ts'
import type { BackendBuild } from './context.ts'

/** How many tunnels of a group one request is offered to: if two cannot be reached, more will not help. */
const MAX_TRIES = 2

/** Takes turns among all tunnels online whose labels hold these. */
export const tunnelGroup: BackendBuild<Kept<typeof TunnelGroupBackend>> = ({ labels }, world) => {
  let seen: readonly Tunnel[] = []
  let targets: readonly Target[] = []
  let turn = 0

  /** Those online, looked up anew only when somebody came or went. */
  const online = (): readonly Target[] => {
    const tunnels = world.labelled(labels)
    if (tunnels !== seen) {
      seen = tunnels
      targets = tunnels.map((tunnel) => world.tunnel(tunnel))
    }
    return targets
  }

  const first = (): Target | undefined => {
    const members = online()
    if (turn >= members.length) turn = 0
    return members[turn++]
  }

  return {
    online: () => online().length > 0,
    first,
    next(tried) {
      const members = online()
      const own = tried.filter((target) => members.includes(target)).length
      if (own === 0) return first()
      return own < MAX_TRIES ? members.find((target) => !tried.includes(target)) : undefined
    },
  }
}
