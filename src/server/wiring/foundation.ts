import { randomBytes, randomUUID } from 'node:crypto'
import { Registry as MetricsRegistry } from 'prom-client'
import { createAuth, createIpRestrictions, firstAccount } from '../../auth/index.ts'
import type { TrustedProxies } from '../../base/http/forwarded.ts'
import { Listeners } from '../../base/io/sockets/listeners.ts'
import { ProxyProtocolReader } from '../../base/io/sockets/proxy-protocol-reader.ts'
import { createOutbound } from '../../base/outbound/outbound.ts'
import type { CleanupStack } from '../../base/process/cleanup-stack.ts'
import type { Logger } from '../../base/process/log.ts'
import { type Clock, systemClock } from '../../base/values/clock.ts'
import { Secret } from '../../base/values/secret.ts'
import { openRootAuthority } from '../../certs/index.ts'
import { GRACE_MS, NameClaims } from '../../naming/index.ts'
import { TunnelDirectory } from '../../sessions/index.ts'
import { type DurableStore, openNameClaims, openStore, type Store } from '../../store/index.ts'
import { PlatformAddresses } from '../addresses.ts'
import { ApiStreams } from '../api-streams.ts'
import type { Bus } from '../bus/bus.ts'
import { isSharedSource, openAgentPort, type ProcessListeners } from '../process/agent-port.ts'
import { loadNodeId } from '../process/node-id.ts'
import { inheritRoleLocks, lockRoles } from '../process/role-locks.ts'
import { controlSettings, countWorkers } from '../process/worker-flags.ts'
import { computeConnectionLimits, openFilesLimit } from '../settings/connection-limits.ts'
import { readOutboundOptions } from '../settings/outbound-options.ts'
import type { ServerLimits } from '../settings/server-limits.ts'
import {
  isLimitedByPeerAddress,
  type ProxyProtocolListener,
  type RoleName,
  resolveMasterKeyFile,
  type ServerSettings,
} from '../settings/settings.ts'
import type { PredecessorChannel } from '../upgrade/predecessor-channel.ts'
import { Workers } from '../workers/workers.ts'

/** The parts that write log lines; each line names its part. */
type PartName =
  | 'api'
  | 'auth'
  | 'certs'
  | 'cluster'
  | 'dashboard'
  | 'dns'
  | 'edge'
  | 'events'
  | 'naming'
  | 'server'
  | 'sessions'
  | 'store'

/** The log of a part. */
export type LogOf = (part: PartName) => Logger

/** The roles that keep working while the database is unavailable. */
const TRAFFIC_ROLES: readonly RoleName[] = ['edge', 'gateway', 'dns']

function hasTraffic({ roles }: Pick<ServerSettings, 'roles'>): boolean {
  return TRAFFIC_ROLES.some((role) => roles.has(role))
}

/** What a process is given at its start. */
export interface ProcessContext {
  readonly cleanup: CleanupStack
  readonly logOf: LogOf
  /** Joins this process with the others. */
  readonly bus: Bus
  /** Set in the process of a worker; its number, from 1. */
  readonly worker: { readonly number: number } | undefined
  /** Set in a process that replaces another. */
  readonly predecessor: PredecessorChannel | undefined
  /** Set if the port of agents was opened before this code was loaded. */
  readonly early: ProcessListeners | undefined
}

/** What every other part of the server builds on. */
export type Foundation = Awaited<ReturnType<typeof openFoundation>>

/**
 * Opens the store and what is read from it before anything runs: the private root, the first account, the names this node
 * claims. Whatever has to be closed is registered in `cleanup`.
 */
export async function openFoundation(
  serverSettings: ServerSettings,
  limits: ServerLimits,
  context: ProcessContext,
) {
  const clock: Clock = systemClock
  const { cleanup, logOf, bus, worker, predecessor, early } = context
  const metrics = new MetricsRegistry()
  lockDataDir(serverSettings, context)
  const listeners = early?.listeners ?? new Listeners(predecessor)
  const connectionLimits = computeConnectionLimits(await openFilesLimit())
  const proxyTrust = createProxyTrust(serverSettings, connectionLimits.clients, logOf)
  const workerCount = worker === undefined ? countWorkers(serverSettings) : 0
  if (worker === undefined && isLimitedByPeerAddress(serverSettings))
    logOf('server').info('one worker, because --peer-addr is set: --workers N runs more')
  // Each worker takes it over from the one that it replaces.
  const isTakenOver = predecessor?.workers !== undefined
  const agentPort =
    early?.agentPort ??
    (isTakenOver
      ? undefined
      : await openAgentPort(serverSettings, { isWorker: worker !== undefined, listen: listeners.listen }))
  cleanup.defer(() => agentPort?.listener.close())
  const workers =
    workerCount === 0
      ? undefined
      : new Workers({
          settings: { ...serverSettings, agentAddr: agentPort?.address },
          limits,
          count: workerCount,
          predecessor,
          bus,
          clock,
          log: logOf('server'),
          metrics,
        })
  cleanup.defer(() => workers?.stop())
  const settings = workers === undefined ? serverSettings : controlSettings(serverSettings)
  const store = await openStore({
    url: settings.databaseUrl,
    dataDir: settings.dataDir,
    masterKeyFile: resolveMasterKeyFile(settings),
    keepCopy: hasTraffic(settings),
    sharedBy: worker === undefined ? 1 : settings.workers,
    isUpgrade: predecessor !== undefined,
    onCommit: (commit) => bus.publish('commit', commit),
    clock,
    log: logOf('store'),
  })
  cleanup.defer(() => store.close())
  bus.subscribe('commit', (commit, sender) => {
    if (sender !== 0) store.receive(commit)
    workers?.notifyCommit(commit)
  })
  const root = await openRootAuthority({ store, dataDir: settings.dataDir, clock, log: logOf('server') })
  const account = await ensureAccount(store, clock, settings, limits)
  const outboundOptions = await readOutboundOptions(settings)
  const outbound = createOutbound(outboundOptions)
  cleanup.defer(() => outbound.close())
  const naming = await createClaims(store, settings, limits, { ...context, clock })
  return {
    settings,
    /** The processes that carry the traffic; undefined when this one does, or when it is one of them. */
    workers,
    /** Set when this process is a worker, which shares its ports with others. */
    worker,
    /** The release that this process replaces, while that drains. */
    predecessor,
    bus,
    listeners,
    cleanup,
    logOf,
    clock,
    store,
    authority: root.authority,
    caFile: root.file,
    metrics,
    auth: createAuth({ store, clock }),
    restrictions: createIpRestrictions({ store, log: logOf('auth') }),
    passwordCost: limits.passwordCost,
    ...account,
    outbound,
    outboundOptions,
    addresses: new PlatformAddresses(settings),
    apiStreams: new ApiStreams(),
    connectionLimits,
    agentPort,
    ...proxyTrust,
    ...naming,
    hasRole: (role: RoleName) => settings.roles.has(role),
    /** Whether this process or its workers serve visitors and agents. */
    carriesTraffic: hasTraffic(serverSettings),
  }
}

/** Locks the data directory for the roles of this process until it ends. */
function lockDataDir(
  { dataDir, roles }: ServerSettings,
  { cleanup, worker, predecessor }: ProcessContext,
): void {
  cleanup.defer(
    predecessor === undefined
      ? lockRoles(dataDir, roles, worker?.number)
      : inheritRoleLocks(dataDir, roles, predecessor.ended, worker?.number),
  )
}

/** The account of the operator: the first one, which a new database gets now. */
async function ensureAccount(
  store: DurableStore,
  clock: Clock,
  { domain }: ServerSettings,
  { passwordCost }: ServerLimits,
) {
  const existing = await firstAccount(store)
  if (existing !== undefined) return { createdAccount: undefined, operatorAccount: existing.id }
  // Loaded by the first start alone: workers do without the dashboard.
  const { createAccountWithPassword, createPasswords } = await import('../../dashboard/index.ts')
  const createdAccount = await createAccountWithPassword(
    { store, passwords: createPasswords(passwordCost), clock },
    'default',
    `admin@${domain}`,
  )
  return { createdAccount, operatorAccount: createdAccount.accountId }
}

/** The claims on public names that this node holds, and the tunnels that they let it serve. */
async function createClaims(
  store: DurableStore,
  { dataDir, nameCooldown }: ServerSettings,
  limits: ServerLimits,
  { worker, predecessor, logOf, clock }: ProcessContext & { readonly clock: Clock },
) {
  const nodeId = predecessor === undefined ? await loadNodeId(dataDir, worker?.number) : randomUUID()
  const nameSpans = { graceMs: limits.graceMs ?? GRACE_MS, cooldownMs: nameCooldown }
  const claims = new NameClaims({
    rows: openNameClaims(store),
    nodeId,
    startId: randomUUID(),
    spans: nameSpans,
    clock,
    log: logOf('naming'),
    ...(limits.claims && { limits: limits.claims }),
  })
  return { nodeId, nameSpans, claims, tunnels: new TunnelDirectory(() => claims.serving) }
}

/** What the settings say of proxies in front of this server. */
function createProxyTrust(settings: ServerSettings, maxPending: number, logOf: LogOf) {
  const { trustedProxies: isTrusted, forwardedHeader, proxyProtocol } = settings
  const trustedProxies: TrustedProxies | undefined = isTrusted && { isTrusted, field: forwardedHeader }
  return {
    trustedProxies,
    isShared: isSharedSource(settings),
    proxyProtocolOf: (listener: ProxyProtocolListener) =>
      isTrusted && proxyProtocol.has(listener)
        ? new ProxyProtocolReader({ listener, isTrusted, maxPending, log: logOf('server') })
        : undefined,
  }
}

/** A random secret in the store, kept across restarts, and the same for all processes: the first one makes it. */
export async function loadOrCreateSecret(store: Store, name: string): Promise<Secret<Buffer>> {
  let stored = await store.setting(name)
  if (stored === undefined) {
    const created = randomBytes(32).toString('base64')
    await store.putSetting(name, created, { secret: true, ifAbsent: true })
    stored = (await store.setting(name)) ?? created
  }
  return new Secret(Buffer.from(stored, 'base64'))
}
