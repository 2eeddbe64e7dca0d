import { CommandFailure } from '../base/process/command-line.ts'
import { storeNodeId } from './process/node-id.ts'
import type { HandOver } from './upgrade/successor.ts'
import type { Parts } from './wiring/start-order.ts'
import { isStandalone } from './wiring/traffic.ts'

/** Offers the listeners of this process to a release that replaces it. */
export function createHandOver({
  foundation: { settings, listeners, workers, cleanup },
  traffic: { cluster },
}: Parts): HandOver {
  const { promise: stopped, resolve: onStopped } = Promise.withResolvers<void>()
  cleanup.defer(onStopped)
  return {
    stopped,
    description: { workers: workers?.description },
    addressOf: async (name, worker) =>
      worker === undefined ? listeners.addressOf(name) : workers?.addressOf(worker, name),
    async take(name, worker) {
      if (worker === undefined) {
        const server = listeners.find(name)
        return server && { server, onSent: () => {} }
      }
      const server = await workers?.takeListener(worker, name)
      // It only passes through this process.
      return server && { server, onSent: () => server.close() }
    },
    async prepare() {
      if (cluster === undefined)
        throw new CommandFailure(
          'An upgrade connects both releases, which --peer-addr false prevents. Leave it unset, or restart the server.',
        )
      if (isStandalone(settings)) await cluster.start()
    },
    async cancel() {
      if (isStandalone(settings)) await cluster?.stop()
    },
    async commit() {
      listeners.handOver()
      await workers?.callAll('handOver')
    },
  }
}

/** Takes over the listeners of the predecessor, unless something is not well in this process. */
export async function takeOver({ foundation: { listeners, workers }, control }: Parts): Promise<void> {
  const { status, body } = (await control?.api.probes.get('/readyz')?.(true)) ?? {}
  if (status !== 200) throw new CommandFailure(`It is not ready: ${JSON.stringify(body)}`)
  await Promise.all([listeners.takeOver(), workers?.takeOver()])
}

/** The predecessor has ended: this process becomes the node that it was. */
export async function completeUpgrade({
  foundation: { settings, nodeId, workers },
  traffic: { cluster },
}: Parts): Promise<void> {
  await storeNodeId(nodeId, settings.dataDir)
  await workers?.completeUpgrade()
  if (isStandalone(settings)) await cluster?.stop()
}
