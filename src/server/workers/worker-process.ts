import { enableCompileCache } from 'node:module'
import { Server, Socket } from 'node:net'
import { join } from 'node:path'
import { createLog } from '../../base/process/log.ts'
import { IS_EXECUTABLE } from '../../base/process/program-files.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { formatError } from '../../base/text/serialize-error.ts'
import { INSTALL_ROOT } from '../../base/version.ts'
import type { RateLeaseRequest } from '../../edge/index.ts'
import type { Commit } from '../../store/index.ts'
import { storeNodeId } from '../process/node-id.ts'
import type {
  MessageFromWorker,
  MessageToWorker,
  WorkerCall,
  WorkerMethods,
  WorkerStart,
  WorkerUpdate,
} from '../process/worker-messages.ts'
import { PredecessorChannel } from '../upgrade/predecessor-channel.ts'
import { exchangeUpdates } from '../wiring/exchange-updates.ts'
import type { Parts } from '../wiring/start-order.ts'
import { LeaseChannel } from './lease-channel.ts'

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

let methods: WorkerMethods | undefined
let receive: (sender: number, update: WorkerUpdate) => void = () => {}
/** The worker of another release that this one replaces, seen through the control processes. */
let predecessor: PredecessorChannel | undefined
const leases = new LeaseChannel((leaseRequests) => send({ leaseRequests }))
let acceptAgent: (socket: Socket) => void = (socket) => socket.destroy()

process.on('message', (message: MessageToWorker, handle) => {
  if ('question' in message) send({ alive: true })
  else if ('start' in message) void start(message.start)
  else if ('call' in message) void answer(message.call)
  else if ('update' in message) receive(message.from, message.update)
  else if ('leases' in message) leases.receive(message.leases)
  else if ('answer' in message) predecessor?.receive(message.answer, handle)
  // The sender may have closed it meanwhile.
  else if (handle instanceof Socket) acceptAgent(handle)
})

async function start({ number, args, limits, listenerUrl, isSuccessor }: WorkerStart): Promise<void> {
  process.title = `adit worker ${number}`
  try {
    const [{ readSettings }, { startParts }] = await modules
    const worker = {
      number,
      onCommit: (committed: Commit) => send({ committed }),
      broadcast: (update: WorkerUpdate) => send({ broadcast: update }),
      takeRateLease: (request: RateLeaseRequest) => leases.take(request),
    }
    if (isSuccessor) predecessor = new PredecessorChannel((question) => send({ question }))
    const { parts, stop } = await startParts(readSettings(args, {}), limits, { worker, predecessor })
    parts.foundation.addresses.setListenerUrl(listenerUrl)
    methods = createMethods(parts, stop)
    receive = exchangeUpdates(parts)
    acceptAgent = (socket) => parts.foundation.agentPort?.listener.accept(socket)
    const { edge } = parts.traffic
    const { agent, ssh } = parts.foundation.addresses
    send({
      ready: { http: edge.addresses.http?.port, https: edge.addresses.https?.port, agent, ssh },
    })
  } catch (error) {
    const { describeStartError } = await import('../process/start-errors.ts')
    send({ failed: describeStartError(error) ?? formatError(error) }, () => process.exit(1))
  }
}

function createMethods(
  { foundation, traffic: { applyChanges, edge, logins, cluster } }: Parts,
  stop: () => Promise<void>,
): WorkerMethods {
  const { addresses, metrics, listeners, worker, nodeId, settings } = foundation
  return {
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

async function answer({ id, method, args }: WorkerCall): Promise<void> {
  try {
    if (methods === undefined) throw new Error('The worker is starting.')
    const call = methods[method] as (...args: readonly unknown[]) => unknown
    const result = await call(...args)
    if (result instanceof Server) send({ reply: { id } }, undefined, result)
    else send({ reply: { id, result } })
  } catch (error) {
    send({ reply: { id, error: errorMessage(error) } })
  }
}

function send(message: MessageFromWorker, onSent: () => void = () => {}, listener?: Server): void {
  process.send?.(message, listener, undefined, onSent)
}
