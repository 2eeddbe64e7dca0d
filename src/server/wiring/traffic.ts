import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { compileSelectors, describeServing } from '../../api/index.ts'
import { WindowBudget } from '../../base/io/memory/window-budget.ts'
import { ConcurrencyLimiter } from '../../base/io/sockets/concurrency-limiter.ts'
import { createDial } from '../../base/outbound/guarded-dial.ts'
import { createOutboundThread } from '../../base/outbound/outbound-thread.ts'
import { CommandFailure } from '../../base/process/command-line.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { parseHostPort } from '../../base/values/hostport.ts'
import { sshFingerprint } from '../../base/values/ssh-fingerprint.ts'
import { VERSION } from '../../base/version.ts'
import { createAgentContexts, createGatewayCertificate } from '../../certs/index.ts'
import { Cluster, NODE_NAME, type PeerTopic } from '../../cluster/index.ts'
import {
  combineObservers,
  createServedCertificates,
  Edge,
  LoginService,
  type OauthEndpoints,
  OUTBOUND_CALL_LIMITS,
} from '../../edge/index.ts'
import { createNameWatch, createReservations } from '../../naming/index.ts'
import type { IpLocation } from '../../policy/index.ts'
import type { SessionLocation } from '../../resources/index.ts'
import {
  Binder,
  type ClientInfo,
  createAgentGateway,
  createResumeTokens,
  createSshGateway,
  type LiveEvent,
  type LiveTunnel,
  type PublicPorts,
  Registry,
  RequestLog,
  selectorView,
  type Tunnel,
} from '../../sessions/index.ts'
import {
  type Commit,
  createLoginSync,
  openApplicationSessions,
  openIpDataFiles,
  openLoginRecords,
  openNodes,
} from '../../store/index.ts'
import { followIpData } from '../ip-data.ts'
import { resolvePeerAddress } from '../settings/peer-address.ts'
import { ROLES, type ServerSettings } from '../settings/settings.ts'
import { openSshHostIdentity } from '../ssh-host-identity.ts'
import type { Background } from './background.ts'
import { type Foundation, loadOrCreateSecret } from './foundation.ts'
import type { ProcessReadiness } from './readiness.ts'
import { openRequestKeys } from './request-keys.ts'
import { followTicketSecret } from './ticket-secret.ts'

/** The edge, the registry, and the gateways that fill it. */
export type TrafficParts = Awaited<ReturnType<typeof wireTraffic>>

/** Agents and SSH clients bind tunnels in the registry; the edge opens streams on them. */
export async function wireTraffic(
  foundation: Foundation,
  background: Background,
  readiness: ProcessReadiness,
) {
  const requestLog = new RequestLog()
  const windows = new WindowBudget()
  const { logins, loginSync, edge, ipData } = await wireEdge(foundation, background, {
    requestLog,
    windows,
    readiness,
  })
  const { registry, cluster, nodeCertificate } = await wireRegistry(foundation, background, {
    edge,
    logins,
    windows,
    readiness,
  })
  return {
    logins,
    loginSync,
    edge,
    /** Resolves once this process serves by these commits, or by all that was committed when it was called. */
    async applyChanges(commits: readonly Commit[] | null) {
      const { store } = foundation
      for (const commit of commits ?? []) store.receive(commit)
      await (commits === null ? store.catchUp() : store.caughtUp())
      await edge.scopes.flush()
    },
    ipData,
    registry,
    cluster,
    nodeCertificate,
    requestLog,
    ...(await wireGateways(foundation, background, { registry, cluster, requestLog, windows })),
  }
}

async function wireEdge(
  foundation: Foundation,
  { certs, events }: Background,
  {
    requestLog,
    windows,
    readiness,
  }: { requestLog: RequestLog; windows: WindowBudget; readiness: ProcessReadiness },
) {
  const { settings, store, clock, logOf, outbound, addresses, hasRole, cleanup } = foundation
  const loginSync = createLoginSync({
    records: openLoginRecords(store),
    sessions: openApplicationSessions(store),
    watch: store.watch,
    clock,
    log: logOf('server'),
    jobs: hasRole('jobs'),
  })
  const ipData = followIpData(openIpDataFiles(store), logOf('edge'))
  const logins = new LoginService({
    outbound,
    clock,
    log: logOf('edge'),
    store: loginSync.loginStore,
    locate: (address) => toSessionLocation(ipData.lookUp(address)?.location),
    idpUrl: () => addresses.idpUrl,
    key: await loadOrCreateSecret(store, 'login.key'),
    requestKey: openRequestKeys(store),
    oauthEndpoints: await readOauthEndpoints(settings.oauthEndpoints),
    onFailed: (accountId, object) =>
      events.emit({ type: 'sign_in_failed.v0', accountId, sequence: 1, object }),
    callbackLimit:
      foundation.worker !== undefined
        ? Math.ceil(settings.loginRateLimit / settings.workers)
        : settings.loginRateLimit,
  })
  // As frequent as requests of visitors (decision 97).
  const policyOutbound = createOutboundThread({ ...foundation.outboundOptions, ...OUTBOUND_CALL_LIMITS })
  cleanup.defer(() => policyOutbound.close())
  const tickets = await followTicketSecret(store, clock, logOf('edge'))
  cleanup.defer(() => tickets.stop())
  const edge = new Edge({
    tunnels: foundation.tunnels,
    observe: combineObservers(logOf('server'), events.observer, requestLog),
    acmeChallenge: certs.httpChallenge,
    ...(settings.publicReadyz && { readiness: () => describeServing(readiness) }),
    logins,
    outbound,
    policyOutbound,
    ipData,
    loginHost: addresses.idpHost,
    bindingIngress: { host: addresses.bindingIngressHost, compileSelectors: compileTunnelSelectors },
    windows,
    apiHosts: apiHosts(foundation),
    publishCounts: hasPeers(foundation) ? (counts) => foundation.bus.publish('counts', counts) : undefined,
    takeRateLease: foundation.worker && ((request) => foundation.bus.ask('rateLease', request)),
    clock,
    log: logOf('edge'),
    certificates: createServedCertificates(certs),
    tickets,
    dial: createDial({ allow: settings.outboundAllow, ownAddresses: settings.publicIps }),
    config: {
      http: settings.httpAddr ?? false,
      https: settings.httpsAddr ?? false,
      tcp: { host: settings.tcpHost, first: settings.tcpPorts[0], last: settings.tcpPorts[1] },
      reusePort: foundation.worker !== undefined,
      listen: foundation.listeners.listen,
      ...(settings.publicHttpsPort !== undefined && { publicHttpsPort: settings.publicHttpsPort }),
      ...(settings.publicHttpPort !== undefined && { publicHttpPort: settings.publicHttpPort }),
      errorPagesUrl: () => errorPagesUrl(foundation),
      limits: { response: settings.responseTimeout },
      maxConnections: foundation.connectionLimits.clients,
      isShared: foundation.isShared,
      trustedProxies: foundation.trustedProxies,
      proxyProtocol: {
        http: foundation.proxyProtocolOf('http'),
        https: foundation.proxyProtocolOf('https'),
        tcp: foundation.proxyProtocolOf('tcp'),
      },
    },
  })
  return { logins, loginSync, edge, ipData }
}

/** Selectors of Kubernetes operators, evaluated on tunnels as the API does on the endpoints that it lists. */
function compileTunnelSelectors(selectors: readonly string[]): (tunnel: Tunnel) => boolean {
  const selects = compileSelectors(selectors)
  return (tunnel) => {
    const { address } = tunnel
    return address.proto !== undefined && selects(selectorView(tunnel, address))
  }
}

/** What the lists of sessions show of a location. */
function toSessionLocation(location: IpLocation | undefined): SessionLocation | undefined {
  if (location === undefined) return undefined
  const toNumber = (value: IpLocation[string]) => (typeof value === 'string' ? Number(value) : null)
  return {
    country_code: typeof location.country_code === 'string' ? location.country_code : null,
    latitude: toNumber(location.latitude),
    longitude: toNumber(location.longitude),
    lat_long_radius_km: toNumber(location.radius),
  }
}

/** The hosts at which the edge serves the API and the dashboard, and the domain itself with what agents are installed from. */
function apiHosts({ settings: { domain }, addresses, apiStreams }: Foundation) {
  return new Map(
    addresses.edgeHosts.map((host) => [
      host === 'domain' ? domain : `${host}.${domain}`,
      {
        isAvailable: () => apiStreams.isAvailable(),
        open: (client: ClientInfo) => apiStreams.open(host, client),
      },
    ]),
  )
}

/** Where visitors can read about error codes; undefined when the API is on this machine only. */
function errorPagesUrl({ settings, addresses }: Foundation): string | undefined {
  const isPublic = settings.apiUrl !== undefined || addresses.apiUrl !== addresses.listenerUrl
  return isPublic ? `${addresses.apiUrl}/docs/errors` : undefined
}

/** An operator creates accounts, so one may use nearly all slots; the next one still finds some (decision 272). */
const ACCOUNT_SHARES = { freeFraction: 1 / 16 }

/** The roles of processes that others have to reach. */
const PEER_ROLES = ['gateway', 'edge', 'api'] as const

/** A process without traffic knows the tunnels of its peers, and opens no port for them. */
const UNOPENED_PORTS: PublicPorts = {
  async acquire(port) {
    if (port === undefined) throw new Error('This process has no public ports.')
    return port
  },
  release() {},
}

async function wireRegistry(
  foundation: Foundation,
  { events }: Background,
  {
    edge,
    logins,
    windows,
    readiness,
  }: { edge: Edge; logins: LoginService; windows: WindowBudget; readiness: ProcessReadiness },
) {
  const { settings, store, clock, logOf, authority, claims, addresses, apiStreams, bus, hasRole } = foundation
  const log = logOf('sessions')
  const registry = new Registry({
    clock,
    graceMs: foundation.nameSpans.graceMs,
    directory: foundation.tunnels,
    ports: hasRole('edge') || hasRole('gateway') ? edge.ports : UNOPENED_PORTS,
    onOutranked: ({ id, address: { url }, fence }, successor) =>
      log.warn({ tunnel: id, url, fence, by: successor }, 'tunnel ended: newer claim on its name'),
    onSubscriberError: (err) => log.error({ err }, 'registry subscriber failed'),
  })
  const nodeCertificate = await createGatewayCertificate(authority, [NODE_NAME], {
    clock,
    log: logOf('server'),
  })
  const peer = await resolvePeerAddress(settings, foundation.predecessor !== undefined)
  const cluster =
    peer &&
    new Cluster({
      nodes: openNodes(store),
      id: randomUUID(),
      registry,
      released: () => claims.settled(),
      secret: await loadOrCreateSecret(store, 'cluster.secret'),
      secureContext: nodeCertificate.context,
      get authorityPem() {
        return authority.certificatePem
      },
      // A node with tunnels, traffic or the API is dialled by all others.
      listen: PEER_ROLES.some((role) => settings.roles.has(role)) ? peer.listen : undefined,
      advertise: peer.advertise,
      agentAddress: () => addresses.agentDial,
      dialApi: settings.roles.has('api')
        ? ({ host, visitor }) =>
            apiStreams.openLocal(host === 'api' || host === 'domain' ? host : 'dashboard', visitor)
        : undefined,
      history: () => (readiness.database() === 'available' ? store.history.current : ''),
      receive: (topic, value) => bus.receive(topic, [value] as never),
      counts: hasRole('edge'),
      windows,
      clock,
      log: logOf('cluster'),
    })
  bus.subscribe('revocation', (revocations) => logins.applyRevocations(revocations))
  bus.subscribe('counts', (counts) => edge.addCounts(counts))
  if (cluster !== undefined)
    bus.connect(['peers'], {
      tell: (topic, values) => cluster.publish(topic as PeerTopic, values as unknown[]),
    })
  readiness.splitFrom = () => cluster?.splitFrom
  apiStreams.findPeer = () => cluster?.apiPeer
  registry.subscribe((event) => {
    if (event.type === 'tunnel_stopped') claims.release(event.tunnel.id, event.end === 'lost')
  })
  registry.subscribe((event) => {
    // A change has no event of its own.
    if (!isChange(event)) events.onLive(event)
  })
  if (cluster !== undefined) registry.publishTo(cluster)
  return { registry, cluster, nodeCertificate }
}

type ChangeEvent = Extract<LiveEvent, { type: `${string}_changed` }>

function isChange(event: LiveEvent): event is ChangeEvent {
  return event.type.endsWith('_changed')
}

async function wireGateways(
  foundation: Foundation,
  { certs }: Background,
  {
    registry,
    cluster,
    requestLog,
    windows,
  }: {
    registry: Registry
    cluster: Cluster | undefined
    requestLog: RequestLog
    windows: WindowBudget
  },
) {
  const { settings, store, clock, logOf, auth, restrictions, addresses, bus, worker } = foundation
  const { resume, nameWatch, binder } = await wireBinder(foundation, registry)
  const shared = {
    registry,
    binder,
    admits: (accountId: string, ip: string) => restrictions.admits(accountId, 'agent', ip),
    sessions: new ConcurrencyLimiter({ total: foundation.connectionLimits.sessions, ...ACCOUNT_SHARES }),
    isShared: foundation.isShared,
    reusePort: foundation.worker !== undefined,
    listen: foundation.listeners.listen,
    region: settings.region,
    clock,
    log: logOf('sessions'),
  }
  const hosts = agentHosts(settings)
  const certificate = await createGatewayCertificate(foundation.authority, hosts, {
    clock,
    log: logOf('server'),
  })
  const agentGateway = createAgentGateway({
    ...shared,
    legs: new ConcurrencyLimiter({ total: foundation.connectionLimits.legs, ...ACCOUNT_SHARES }),
    proxyProtocol: foundation.proxyProtocolOf('agent'),
    reportAuthFailure: (ip) => bus.publish('loginFailed', { gateway: 'agent', ip }),
    describeAccount: async (accountId) => ({
      name: String((await store.fallbackReader.get('accounts', accountId, accountId))?.data.name ?? ''),
      plan: '',
      banner: '',
    }),
    resume,
    windows,
    authenticate: auth.authtoken,
    isApiKey: async (token) => (await auth.apiKey(token)) !== undefined,
    secureContext: certificate.context,
    namedContext: createAgentContexts(certs),
    lacksCertificate: (host) => certs.isUncovered(host),
    ingressAccount: (serverName) => certs.ingressOf(serverName)?.account,
    // Processes on one SQLite file share the address that the agent has dialled already, perhaps through a proxy.
    connectAddresses: () => (settings.databaseUrl === undefined ? [] : (cluster?.agentAddresses ?? [])),
    workers: worker === undefined ? 1 : settings.workers,
    serverVersion: VERSION,
  })
  cluster?.followAddresses(() => agentGateway.announceAddresses())
  const sshHost = await openSshHostIdentity({
    store,
    clock,
    log: logOf('server'),
    authorityId: settings.sshHostCa,
    hosts: uniqueHosts([...hosts, `tcp.${settings.domain}`, settings.sshAddr?.host]),
  })
  const sshGateway = createSshGateway({
    ...shared,
    proxyProtocol: foundation.proxyProtocolOf('ssh'),
    reportAuthFailure: (ip) => bus.publish('loginFailed', { gateway: 'ssh', ip }),
    address: addresses,
    hostIdentity: sshHost.identity,
    authenticate: (publicKey, userName) => auth.sshKey(sshFingerprint(publicKey), userName),
    requestLog,
    windows,
  })
  return { nameWatch, agentGateway, gatewayCertificate: certificate, sshGateway, sshHost }
}

/** What turns bind requests into tunnels, and evicts those whose name no longer belongs to their account. */
async function wireBinder(
  { settings, store, clock, logOf, addresses, claims }: Foundation,
  registry: Registry,
) {
  const resume = createResumeTokens(await loadOrCreateSecret(store, 'sessions.resume_key'))
  const reservations = createReservations({ store, domain: settings.domain })
  const nameWatch = createNameWatch<LiveTunnel>({
    reservations,
    evict: (tunnel, reason) => registry.evict(tunnel, reason),
    log: logOf('naming'),
  })
  registry.subscribe((event) => {
    if (event.type === 'tunnel_started') nameWatch.add(event.tunnel)
    else if (event.type === 'tunnel_stopped') nameWatch.remove(event.tunnel)
  })
  const binder = new Binder({ registry, reservations, address: addresses, resume, claims, clock })
  return { resume, nameWatch, binder }
}

/** Alternative endpoints of OAuth providers, from the operator's file. */
async function readOauthEndpoints(file: string | undefined): Promise<OauthEndpoints> {
  if (file === undefined) return {}
  try {
    return JSON.parse(await readFile(file, 'utf8')) as OauthEndpoints
  } catch (error) {
    throw new CommandFailure(`--oauth-endpoints: ${file} cannot be read as JSON: ${errorMessage(error)}`)
  }
}

/**
 * Whether this process has no peers but the release that replaces it: with `auto`, peers exist only on a shared database or
 * when this process does not run every role.
 */
export function isStandalone({ peerAddr, databaseUrl, roles }: ServerSettings): boolean {
  return peerAddr === 'auto' && databaseUrl === undefined && ROLES.every((role) => roles.has(role))
}

/** Whether this process starts with links to others. */
export function hasPeers({ settings, predecessor }: Pick<Foundation, 'settings' | 'predecessor'>): boolean {
  return settings.peerAddr !== undefined && (predecessor !== undefined || !isStandalone(settings))
}

/** The names and addresses that agents may dial. */
function agentHosts({ domain, agentAddr, agentPublicAddr }: ServerSettings): string[] {
  const publicHost = agentPublicAddr && parseHostPort(agentPublicAddr)?.host.replace(/^\[|\]$/g, '')
  return uniqueHosts(['localhost', '127.0.0.1', domain, `connect.${domain}`, agentAddr?.host, publicHost])
}

function uniqueHosts(hosts: readonly (string | false | undefined)[]): string[] {
  return [...new Set(hosts.filter((host) => typeof host === 'string' && host !== ''))] as string[]
}
