import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { createLog } from '../../base/process/log.ts'
import { IS_EXECUTABLE } from '../../base/process/program-files.ts'
import { formatError } from '../../base/text/serialize-error.ts'
import { INSTALL_ROOT } from '../../base/version.ts'
import { Bus } from '../bus/bus.ts'
import { ProcessChannel } from '../bus/process-channel.ts'
import { storeNodeId } from '../process/node-id.ts'
import type {
  ControlMethods,
  WorkerAddresses,
  WorkerMethods,
  WorkerStart,
} from '../process/worker-messages.ts'
import { PredecessorChannel } from '../upgrade/predecessor-channel.ts'
import { shareAmongWorkers } from '../wiring/share-among-workers.ts'
import type { Parts } from '../wiring/start-order.ts'

/**
 * The main module of a worker. It does what the control process says: signals that a terminal or a service manager sends
 * to all processes are left to it, and a worker whose control process is gone ends at once, like it.
 */
if (!IS_EXECUTABLE) enableCompileCache(join(INSTALL_ROOT, 'node_modules', '.cache', 'adit'))
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => {})
process.on('disconnect', () => process.exit(1))
process.on('uncaughtException', (error) => {
  createLog('error').error({ part: 'server', err: error }, 'worker failed')
  process.exit(1)
})

/** Loaded at once, while the control process opens the store. */
const modules = Promise.all([import('../settings/settings.ts'), import('../parts.ts')])

const methods: Partial<WorkerMethods> = { alive() {}, start }
const bus = new Bus()
const control = new ProcessChannel<ControlMethods>(process, {
  methods,
  // What the control process has missed, the other workers have.
  onMissed() {
    bus.publish('joined', true)
    bus.receive('joined', true)
  },
})
bus.connect(['control', 'workers'], {
  tell: (topic, value) => control.publish(topic, value),
  ask: (topic, value) => control.call('receive', topic, value),
})
/** The worker of another release that this one replaces, seen through the control processes. */
let predecessor: PredecessorChannel | undefined

async function start({
  number,
  args,
  limits,
  listenerUrl,
  isSuccessor,
}: WorkerStart): Promise<WorkerAddresses> {
  process.title = `adit worker ${number}`
  try {
    const [{ readSettings }, { startParts }] = await modules
    if (isSuccessor)
      predecessor = new PredecessorChannel({
        addressOf: (name) => control.call('addressOf', name),
        take: (name) => control.call('takeListener', name),
      })
    const worker = { number }
    const { parts, stop } = await startParts(readSettings(args, {}), limits, { worker, bus, predecessor })
    parts.foundation.addresses.setListenerUrl(listenerUrl)
    Object.assign(methods, createMethods(parts, stop))
    shareAmongWorkers(parts)
    const { edge } = parts.traffic
    const { agent, ssh } = parts.foundation.addresses
    return { http: edge.addresses.http?.port, https: edge.addresses.https?.port, agent, ssh }
  } catch (error) {
    const { describeStartError } = await import('../process/start-errors.ts')
    throw new Error(describeStartError(error) ?? formatError(error))
  }
}

function createMethods(
  { foundation, traffic: { applyChanges, edge, logins, cluster } }: Parts,
  stop: () => Promise<void>,
): Omit<WorkerMethods, 'start' | 'alive'> {
  const { addresses, metrics, listeners, agentPort, worker, nodeId, settings } = foundation
  return {
    receive: (topic, value, sender) => bus.receive(topic, value, sender),
    acceptAgent: (socket) => void (socket && agentPort?.listener.accept(socket)),
    node: () => cluster?.self,
    link: async (nodes) => cluster?.introduce(nodes),
    setListenerUrl: (url) => addresses.setListenerUrl(url),
    applyChanges,
    metrics: () => metrics.getMetricsAsJSON(),
    totals: edge.traffic.totals,
    history: edge.traffic.history,
    countries: edge.traffic.countries,
    countsOf: (accountId, edgeId) => edge.scopes.countsOf(accountId, edgeId),
    brokenIn: (accountId, edgeId) => edge.scopes.brokenIn(accountId, edgeId),
    failedSignIns: (accountId) => logins.failuresOf(accountId),
    takeOver: () => listeners.takeOver(),
    async completeUpgrade() {
      predecessor?.end()
      await storeNodeId(nodeId, settings.dataDir, worker?.number)
    },
    addressOf: (name) => listeners.addressOf(name),
    takeListener: (name) => listeners.find(name),
    handOver: () => listeners.handOver(),
    async stop() {
      await stop()
      process.exit(0)
    },
  }
}
