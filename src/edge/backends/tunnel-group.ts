import type { TunnelGroupBackend } from '../../resources/index.ts'
import type { UpstreamTarget } from '../contracts/backend.ts'
import type { OwnedRecord } from '../contracts/snapshot.ts'
import type { Tunnel } from '../contracts/tunnels.ts'
import type { BackendBuilder } from './context.ts'

/** How many tunnels of a group one request is tried on: if two are unreachable, more will not help. */
const MAX_ATTEMPTS = 2

/** Round robin over all online tunnels with matching labels. */
export const tunnelGroup: BackendBuilder<OwnedRecord<typeof TunnelGroupBackend>> = ({ labels }, context) => {
  let knownTunnels: readonly Tunnel[] = []
  let targets: readonly UpstreamTarget[] = []
  let nextIndex = 0

  /** The targets online, rebuilt only when the registry returns another array. */
  const onlineTargets = (): readonly UpstreamTarget[] => {
    const tunnels = context.tunnelsWithLabels(labels)
    if (tunnels !== knownTunnels) {
      knownTunnels = tunnels
      targets = tunnels.map((tunnel) => context.tunnelTarget(tunnel))
    }
    return targets
  }

  const pick = (): UpstreamTarget | undefined => {
    const members = onlineTargets()
    if (nextIndex >= members.length) nextIndex = 0
    return members[nextIndex++]
  }

  return {
    isOnline: () => onlineTargets().length > 0,
    pick,
    pickNext(failedTargets) {
      const members = onlineTargets()
      const attempts = failedTargets.filter((target) => members.includes(target)).length
      if (attempts === 0) return pick()
      return attempts < MAX_ATTEMPTS ? members.find((target) => !failedTargets.includes(target)) : undefined
    },
  }
}
