import { CREDENTIAL_KINDS, createCredentialWatch } from '../../auth/index.ts'
import { formatTimestamp } from '../../base/values/clock.ts'
import { joinHostPort } from '../../base/values/hostport.ts'
import { DesiredPorts } from '../../edge/index.ts'
import { followReservations, RESERVING_KINDS } from '../../naming/index.ts'
import { Endpoint } from '../../resources/index.ts'
import { followCloudEndpoints } from '../../sessions/index.ts'
import { follow, type Lifecycle, onStop } from '../process/lifecycle.ts'
import type { Background } from './background.ts'
import type { Control } from './control.ts'
import { drain } from './drain.ts'
import type { Foundation } from './foundation.ts'
import type { Monitoring } from './monitoring.ts'
import { hasPeers, type TrafficParts } from './traffic.ts'

/** The parts of one process, by the phase that creates them. */
export interface Parts {
  readonly foundation: Foundation
  readonly background: Background
  readonly traffic: TrafficParts
  readonly monitoring: Monitoring
  /** Not in workers. */
  readonly control: Control | undefined
}

/**
 * The components in the order they start: what is observed, what is served, the listeners, the API. They stop in the
 * reverse order, so the API stops first, then agents and clients are drained while the sessions they use still exist.
 */
export function startOrder({
  foundation,
  background,
  traffic,
  monitoring: { stalenessMonitor },
  control,
}: Parts): Lifecycle[] {
  const edge = edgeComponents(foundation, traffic)
  return [
    ...(control === undefined ? [] : [probes(foundation, control), changeTracker(control)]),
    stalenessMonitor,
    ...followers(foundation, traffic),
    ...backgroundComponents(foundation, background),
    ...edge.table,
    clusterComponent(foundation, traffic),
    edge.listeners,
    ...gateways(foundation, traffic),
    ...workerProcesses(foundation, traffic),
    onStop(() => drain(foundation, traffic)),
    ...(control === undefined ? [] : [apiListener(foundation, control)]),
  ]
}

/** Probes respond from the beginning of the start to the end of the stop. */
function probes({ settings, listeners }: Foundation, { probes: listener }: Control): Lifecycle {
  return {
    start: async () =>
      void (settings.probeAddr && (await listener.listen(settings.probeAddr, listeners.listen))),
    stop: () => listener.close(),
  }
}

/** Pages of the dashboard follow changes. */
function changeTracker({ changes }: Control): Lifecycle {
  return { start: changes.start, stop: async () => changes.stop() }
}

/** What keeps rules in memory up to date with the database. */
function followers(
  { store, restrictions, claims, tunnels, settings, hasRole, logOf }: Foundation,
  { registry, nameWatch }: TrafficParts,
): Lifecycle[] {
  const credentialWatch = createCredentialWatch({
    updateAcl: (id, rules) => registry.updateAcl(id, rules),
    revokeCredential(id, reason) {
      registry.revokeCredential(id, reason)
      claims.forgetCredential(id)
    },
  })
  // The registry owns the ports, so that agents can pool with cloud endpoints.
  const cloudPorts = new DesiredPorts(
    {
      acquire: (port) => registry.acquirePort(port),
      release: (port) => registry.releasePort(port),
    },
    logOf('edge'),
  )
  return [
    { start: restrictions.start, stop: async () => restrictions.stop() },
    follow(store, CREDENTIAL_KINDS, credentialWatch),
    follow(store, RESERVING_KINDS, followReservations(nameWatch.onReserved)),
    follow(
      store,
      [Endpoint.kind],
      followCloudEndpoints(tunnels, settings.region, (ports) => {
        if (hasRole('edge')) cloudPorts.setDesired(ports)
      }),
    ),
    onStop(() => cloudPorts.stop()),
    onStop(nameWatch.stop),
  ]
}

function backgroundComponents(foundation: Foundation, background: Background): Lifecycle[] {
  const { hasRole, worker } = foundation
  const { events, certs, zones, dns } = background
  return [
    events,
    // The control process tells for its workers.
    ...(worker === undefined ? [reportLosses(foundation, background)] : []),
    certs,
    { start: async () => void (hasRole('dns') && (await zones.start())), stop: zones.stop },
    {
      start: async () => void (hasRole('dns') && (await dns?.start())),
      stop: async () => void (await dns?.stop()),
    },
  ]
}

/** Tells the operator's account that this node had seen revisions that the database lacks. */
function reportLosses({ store, nodeId, operatorAccount }: Foundation, { events }: Background): Lifecycle {
  return {
    async start() {
      store.history.onLoss(({ revisions = null, since }) =>
        events.emit({
          type: 'database_revisions_lost.v0',
          accountId: operatorAccount,
          sequence: 1,
          object: { node: nodeId, revisions, since: since === undefined ? null : formatTimestamp(since) },
        }),
      )
    },
    async stop() {},
  }
}

/** The routing table is complete before the listeners open. A drain ends the listeners too, so they stop once. */
function edgeComponents(
  { store, addresses, bus, hasRole }: Foundation,
  { edge, ipData, logins, loginSync, cluster }: TrafficParts,
): { table: Lifecycle[]; listeners: Lifecycle } {
  return {
    table: [
      onStop(() => logins.close()),
      {
        start: () =>
          loginSync.start({
            apply: (revocations) => logins.applyRevocations(revocations),
            async publish(revocation) {
              bus.publish('revocation', [revocation])
              await cluster?.published()
            },
          }),
        stop: loginSync.stop,
      },
      ...(hasRole('edge') ? [ipData, follow(store, edge.kinds, edge.follower)] : []),
    ],
    listeners: {
      async start() {
        if (hasRole('edge')) await edge.start()
        addresses.setEdge(edge.addresses.http?.port, edge.addresses.https?.port)
      },
      stop: () => edge.stop(),
    },
  }
}

/** A process without peers is linked with another release alone, while one replaces the other. */
function clusterComponent(foundation: Foundation, { cluster, nodeCertificate }: TrafficParts): Lifecycle {
  return {
    start: async () => void (hasPeers(foundation) && (await cluster?.start())),
    async stop() {
      await cluster?.stop()
      nodeCertificate.stop()
    },
  }
}

function gateways(
  { settings, addresses, agentPort, claims, hasRole }: Foundation,
  { registry, cluster, agentGateway, gatewayCertificate, sshGateway, sshHost }: TrafficParts,
): Lifecycle[] {
  const { sshAddr } = settings
  const isGateway = hasRole('gateway')
  return [
    {
      start: async () => void (isGateway && (await claims.start(registry))),
      stop: async () => void (isGateway && (await claims.stop())),
    },
    {
      async start() {
        if (agentPort === undefined || !isGateway) return
        agentPort.listener.serve((socket) => agentGateway.accept(socket))
        addresses.agent = joinHostPort(agentPort.address.host, agentPort.address.port)
        await cluster?.announce()
      },
      async stop() {
        if (isGateway) agentPort?.listener.hold()
        await agentGateway.close()
        gatewayCertificate.stop()
        registry.close()
      },
    },
    {
      async start() {
        if (sshAddr === undefined || !isGateway) return
        const { port } = await sshGateway.listen(sshAddr.port, sshAddr.host)
        addresses.ssh = joinHostPort(sshAddr.host, port)
      },
      async stop() {
        await sshGateway.close()
        sshHost.stop()
      },
    },
  ]
}

/** The processes that carry the traffic, if this one does not. Each is linked with the others before the start is done. */
function workerProcesses(
  { workers, addresses, agentPort }: Foundation,
  { cluster }: TrafficParts,
): Lifecycle[] {
  if (workers === undefined) return []
  return [
    {
      async start() {
        const { http, https, agent, ssh } = await workers.start()
        addresses.setEdge(http, https)
        addresses.agent = agent
        addresses.ssh = ssh
        if (cluster !== undefined) await workers.link(cluster)
        // Now the workers listen on the port.
        agentPort?.listener.serve((socket) => workers.handOver(socket))
        await agentPort?.listener.close()
      },
      stop: () => workers.stop(),
    },
  ]
}

function apiListener(
  { settings, addresses, apiStreams, hasRole, workers, listeners }: Foundation,
  { api }: Control,
): Lifecycle {
  return {
    async start() {
      if (!hasRole('api')) return
      await api.start()
      apiStreams.local = api
      if (settings.apiAddr === undefined) return
      const { port } = await api.listen(settings.apiAddr, listeners.listen)
      addresses.setApi(settings.apiAddr, port)
      await workers?.setListenerUrl(addresses.listenerUrl)
    },
    stop() {
      apiStreams.local = undefined
      return api.close()
    },
  }
}
