import { CommandFailure } from '../../base/command-line.ts'
import { storeNodeId } from '../node-id.ts'
import type { Parts } from '../wiring/start-order.ts'
import { isStandalone } from '../wiring/traffic.ts'
import type { HandOver } from './successor.ts'

/** Offers the listeners of this process to a release that replaces it. */
export function createHandOver({
  foundation: { settings, listeners, workers, cleanup },
  traffic: { cluster },
}: Parts): HandOver {
  const { promise: stopped, resolve: onStopped } = Promise.withResolvers<void>()
  cleanup.defer(onStopped)
  return {
    stopped,
    find: (name) => listeners.find(name),
    async prepare() {
      if (workers !== undefined)
        throw new CommandFailure(
          'A server with several workers cannot be replaced while it runs: restart it.',
        )
      if (cluster === undefined)
        throw new CommandFailure(
          'An upgrade links both releases, and --peer-addr false allows no links. Leave it unset, or restart the server.',
        )
      if (isStandalone(settings)) await cluster.start()
    },
    async cancel() {
      if (isStandalone(settings)) await cluster?.stop()
    },
    commit: () => listeners.handOver(),
  }
}

/** Takes over the listeners of the predecessor, unless this process is not ready for them. */
export async function takeOver({ foundation: { listeners }, control: { api } }: Parts): Promise<void> {
  const { status, body } = (await api.probes.get('/readyz')?.()) ?? {}
  if (status !== 200) throw new CommandFailure(`It is not ready: ${JSON.stringify(body)}`)
  await listeners.takeOver()
}

/** The predecessor has ended: this process becomes the node that it was. */
export async function completeUpgrade({
  foundation: { settings, nodeId },
  traffic: { cluster },
}: Parts): Promise<void> {
  await storeNodeId(nodeId, settings.dataDir)
  if (isStandalone(settings)) await cluster?.stop()
}
