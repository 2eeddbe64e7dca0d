import type { AddressInfo, Server } from 'node:net'
import type { TrustedProxies } from '../base/http/forwarded.ts'
import { ByteBudgets } from '../base/io/memory/byte-budget.ts'
import { TimerWheel } from '../base/io/memory/timer-wheel.ts'
import { WindowBudget } from '../base/io/memory/window-budget.ts'
import { acceptPending } from '../base/io/sockets/accept-pending.ts'
import { type Listen, listen as openListener } from '../base/io/sockets/listeners.ts'
import type { ProxyProtocolReader } from '../base/io/sockets/proxy-protocol-reader.ts'
import { FlushScheduler } from '../base/io/streams/flush-scheduler.ts'
import { fanOut } from '../base/limits/fan-out.ts'
import { createDial, type Dial } from '../base/outbound/guarded-dial.ts'
import type { Outbound } from '../base/outbound/outbound.ts'
import type { Logger } from '../base/process/log.ts'
import { type Clock, systemClock } from '../base/values/clock.ts'
import { type IpData, NO_IP_DATA } from '../policy/index.ts'
import type { EdgeTable } from './compile/edge-table.ts'
import { HELD_BODY_LIMITS } from './contracts/held-body.ts'
import { defaultLimits, type LimitSettings, toTickLimits } from './contracts/limits.ts'
import type { Observer } from './contracts/observe.ts'
import { type EdgeRuntime, NO_CLUSTER_SERVICES, type RespondReadiness } from './contracts/runtime.ts'
import { type EdgeFollower, edgeKinds } from './contracts/snapshot.ts'
import { EMPTY_TABLE, type HttpHost } from './contracts/table.ts'
import { TlsPolicies } from './contracts/tls-policy.ts'
import type { PublicPorts, TunnelLookup } from './contracts/tunnels.ts'
import { BindingHandshake } from './kubernetes/binding-handshake.ts'
import { createHttpListener } from './listeners/http.ts'
import { type PortRange, TcpPorts } from './listeners/tcp-ports.ts'
import { createTlsListener } from './listeners/tls.ts'
import type { CertificateLookup, SharedTickets } from './listeners/tls-terminator.ts'
import { type ApiUpstream, createApiHost } from './resolve/api-host.ts'
import type { CompileSelectors } from './resolve/cluster-services.ts'
import { createRouting } from './resolve/create-routing.ts'
import { LOCAL_REPLY_LIMITS } from './response/local-reply.ts'
import { createBodyReplacer } from './services/body-replacer.ts'
import { createKeySets } from './services/key-sets.ts'
import type { Logins } from './services/logins.ts'
import { createOutboundCalls } from './services/outbound-calls.ts'
import type { TakeRateLease } from './services/rate-lease.ts'
import type { EdgeServices } from './services/services.ts'
import { createSnsKeys } from './services/sns-keys.ts'
import type { ExchangedCounts } from './stats/shared-counts.ts'
import { Traffic } from './stats/traffic.ts'
import { HISTORY_INTERVAL_MS, TrafficHistory, type TrafficHistoryView } from './stats/traffic-history.ts'

/** The address of a listener; port 0 means any free port. */
export interface EdgeListenAddress {
  readonly host: string
  readonly port: number
}

export interface EdgeConfig {
  /** `false` switches a listener off. */
  readonly http: EdgeListenAddress | false
  readonly https: EdgeListenAddress | false
  /** The public TCP ports, opened on demand. */
  readonly tcp: PortRange
  /** Other processes listen on the same ports; the kernel spreads connections over them. */
  readonly reusePort?: boolean
  /** Whether other processes are told what is counted here against rate limits. */
  readonly sharesCounts?: boolean
  /** Opens the listeners. */
  readonly listen?: Listen
  /** The port clients connect to when it is not the bound one, as behind a NAT or load balancer. */
  readonly publicHttpsPort?: number
  /** Base URL of the pages that explain error codes, if clients can reach them. */
  readonly errorPagesUrl?: () => string | undefined
  readonly publicHttpPort?: number
  /** Max concurrent connections per listener; all TCP ports together count as one listener. */
  readonly maxConnections?: number
  /** Reports addresses that many clients share, such as a load balancer's. */
  readonly isShared?: (ip: string) => boolean
  /** Proxies whose forwarding fields name the client of a request. */
  readonly trustedProxies?: TrustedProxies | undefined
  /** The listeners whose connections begin with a PROXY protocol header. */
  readonly proxyProtocol?: Readonly<
    Partial<Record<'http' | 'https' | 'tcp', ProxyProtocolReader | undefined>>
  >
  readonly limits?: Partial<LimitSettings>
  /** Tick length of the timer wheel, in milliseconds. */
  readonly tickMs?: number
}

export interface EdgeDependencies {
  readonly tunnels: TunnelLookup
  readonly certificates: CertificateLookup
  /** Shared with the other processes, so that each resumes the TLS sessions of all; random by default. */
  readonly tickets?: SharedTickets
  readonly config: EdgeConfig
  readonly log: Logger
  readonly observe?: Observer
  /** Signs visitors in; without it, login modules deny every request. */
  readonly logins?: Logins
  /** The name of the platform's own host that identity providers redirect to. */
  readonly loginHost?: string
  /** The platform's own hosts that serve the management API. */
  readonly apiHosts?: ReadonlyMap<string, ApiUpstream>
  /** The platform's own host at which Kubernetes clusters connect; without it, none can. */
  readonly bindingIngress?: { readonly host: string; readonly compileSelectors: CompileSelectors }
  /** Fetches the certificates that webhook senders publish; without it, such webhooks are denied. */
  readonly outbound?: Pick<Outbound, 'fetch'>
  /** Makes the calls of traffic policies; without it, policies with such calls deny every request. */
  readonly policyOutbound?: Pick<Outbound, 'fetch'>
  /** What is known about addresses; nothing by default. */
  readonly ipData?: IpData
  /** Set where several workers hold rate limits together. */
  readonly takeRateLease?: TakeRateLease | undefined
  /** Dials static backends; reaches public addresses only by default. */
  readonly dial?: Dial
  /** Responds to ACME HTTP challenges, before any endpoint of the host. */
  readonly acmeChallenge?: (token: string, host: string) => string | undefined
  /** Responds to `/readyz` at the HTTP listener, for hosts without an endpoint. */
  readonly readiness?: RespondReadiness
  readonly clock?: Clock
  /** Shared with the other receive windows of the process. */
  readonly windows?: WindowBudget
}

/** The bound addresses. */
export interface EdgeAddresses {
  http: AddressInfo | undefined
  https: AddressInfo | undefined
}

/** The public side of the server: its listeners and their routing table. */
export interface Edge {
  readonly addresses: EdgeAddresses
  /** Public TCP ports, for the sessions that bind tunnels to them. */
  readonly ports: PublicPorts
  /** The record kinds that configure edges, and the follower that receives their changes. */
  readonly kinds: readonly string[]
  readonly follower: EdgeFollower
  /** Counters of edges and routes, which of them are broken, and whether every change has been applied. */
  readonly scopes: Pick<EdgeTable, 'counts' | 'countsOf' | 'broken' | 'brokenIn' | 'settled' | 'flush'>
  /** Traffic of each account: totals, and the last hour. */
  readonly traffic: Pick<Traffic, 'totals' | 'countries' | 'accounts'> & {
    history(accountId: string): TrafficHistoryView
  }
  /** The counts of rate limits and circuit breakers, which processes exchange. */
  readonly sharedCounts: ExchangedCounts
  start(): Promise<void>
  /** Stops accepting, lets exchanges in flight finish, and closes the rest after `drainMs`, by default `limits.drain` (P9); once. */
  stop(drainMs?: number): Promise<void>
}

const DEFAULT_MAX_CONNECTIONS = 16_384

export function createEdge(dependencies: EdgeDependencies): Edge {
  const { tunnels, certificates, config, log, observe, bindingIngress, clock = systemClock } = dependencies
  const onError = (err: unknown) => log.error({ err }, 'edge connection failed')
  const timers = new TimerWheel(clock, config.tickMs, onError)
  const settings = { ...defaultLimits, ...config.limits }
  const runtime: EdgeRuntime = {
    flushScheduler: new FlushScheduler(onError),
    timers,
    clock,
    log,
    limits: toTickLimits(settings, timers),
    connections: new Set(),
    idleUpstreams: new Set(),
    trustedProxies: config.trustedProxies,
    observer: observe,
    traffic: new Traffic(dependencies.ipData),
    heldBodyBudgets: new ByteBudgets({ ...HELD_BODY_LIMITS, isShared: config.isShared }),
    localReplyBudgets: new ByteBudgets({ ...LOCAL_REPLY_LIMITS, isShared: config.isShared }),
    windows: dependencies.windows ?? new WindowBudget(),
    acmeChallenge: dependencies.acmeChallenge,
    readiness: dependencies.readiness,
    errorPagesUrl: config.errorPagesUrl ?? (() => undefined),
    findErrorPage: () => undefined,
    clusterServices: NO_CLUSTER_SERVICES,
    publicHttpsPort: config.publicHttpsPort ?? 443,
    publicHttpPort: config.publicHttpPort ?? 80,
    table: EMPTY_TABLE,
    draining: false,
  }
  const tlsPolicies = new TlsPolicies()
  const connectionLimits = {
    total: config.maxConnections ?? DEFAULT_MAX_CONNECTIONS,
    isShared: config.isShared,
  }
  const { proxyProtocol = {} } = config
  const { reusePort = false, listen = openListener } = config
  const ports = new TcpPorts(
    runtime,
    { ...config.tcp, reusePort, listen },
    connectionLimits,
    proxyProtocol.tcp,
  )
  const { dial = createDial(), outbound, policyOutbound } = dependencies
  const services: EdgeServices = {
    logins: dependencies.logins,
    signingKeys: outbound && createSnsKeys({ fetch: outbound.fetch, clock }),
    keySets: outbound && createKeySets({ fetch: outbound.fetch, clock }),
    ipData: dependencies.ipData ?? NO_IP_DATA,
    outboundCalls: policyOutbound && createOutboundCalls(policyOutbound),
    bodyReplacer: createBodyReplacer(),
    takeRateLease: dependencies.takeRateLease,
  }
  const routing = createRouting({
    runtime,
    tunnels,
    tlsPolicies,
    ports,
    services,
    dial,
    sharesCounts: config.sharesCounts ?? false,
    compileSelectors: bindingIngress?.compileSelectors ?? (() => () => false),
    platformHosts: createPlatformHosts(runtime, tlsPolicies, dependencies),
  })
  const { clusterServices, edges } = routing
  runtime.table = routing.routes
  runtime.findErrorPage = routing.findErrorPage
  runtime.clusterServices = clusterServices
  const addresses: EdgeAddresses = { http: undefined, https: undefined }
  const servers: Server[] = []
  const history = new TrafficHistory()
  let sampler: NodeJS.Timeout | undefined

  async function start(): Promise<void> {
    timers.start()
    sampler = setInterval(() => history.sample(runtime.traffic.accounts()), HISTORY_INTERVAL_MS)
    if (config.http !== false) {
      const server = createHttpListener(runtime, connectionLimits, proxyProtocol.http)
      servers.push(server)
      addresses.http = await listen(server, 'http', { ...config.http, reusePort })
      if (config.publicHttpPort === undefined) runtime.publicHttpPort = addresses.http.port
    }
    if (config.https !== false) {
      const server = createTlsListener(runtime, {
        certificates,
        tickets: dependencies.tickets,
        defaultTlsPolicy: tlsPolicies.get({ http: true }),
        handshakeTimeout: settings.handshake,
        connectionLimits,
        proxyProtocol: proxyProtocol.https,
        bindingIngress: bindingIngress && {
          host: bindingIngress.host,
          // Any certificate: a rejection then has a reason that the operator can log.
          tlsPolicy: tlsPolicies.get({ http: false, clientVerification: 'require-any' }),
          accept: (client) =>
            new BindingHandshake(runtime, client, (fingerprint) => clusterServices.operatorWith(fingerprint)),
        },
      })
      servers.push(server)
      addresses.https = await listen(server, 'https', { ...config.https, reusePort })
      if (config.publicHttpsPort === undefined) runtime.publicHttpsPort = addresses.https.port
    }
  }

  let stopped: Promise<void> | undefined

  async function drainAndClose(drainMs: number): Promise<void> {
    runtime.draining = true
    await acceptPending([...servers, ...ports.servers])
    const serversClosed = servers.map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    )
    ports.close()
    clearInterval(sampler)
    routing.stop()
    for (const reader of Object.values(proxyProtocol)) reader?.close()
    fanOut([...runtime.connections], (connection) => connection.drain(), onError)
    await waitForConnections(runtime, drainMs)
    fanOut([...runtime.connections], (connection) => connection.destroy(), onError)
    fanOut([...runtime.idleUpstreams], (upstream) => upstream.close(), onError)
    await Promise.all([...serversClosed, services.bodyReplacer.close()])
    timers.stop()
  }

  return {
    addresses,
    ports,
    kinds: edgeKinds,
    follower: edges,
    scopes: edges,
    sharedCounts: routing.counts,
    traffic: {
      totals: (accountId) => runtime.traffic.totals(accountId),
      countries: (accountId) => runtime.traffic.countries(accountId),
      accounts: () => runtime.traffic.accounts(),
      history: (accountId) => history.viewOf(accountId),
    },
    start,
    stop(drainMs = settings.drain) {
      stopped ??= drainAndClose(drainMs)
      return stopped
    },
  }
}

/** The platform's own hosts. */
function createPlatformHosts(
  runtime: EdgeRuntime,
  tlsPolicies: TlsPolicies,
  { logins, loginHost, apiHosts = new Map() }: EdgeDependencies,
): Map<string, HttpHost> {
  const tlsPolicy = tlsPolicies.get({ http: true })
  const hosts = new Map<string, HttpHost>()
  if (logins !== undefined && loginHost !== undefined) hosts.set(loginHost, logins.host(tlsPolicy))
  for (const [name, api] of apiHosts) hosts.set(name, createApiHost(runtime, tlsPolicy, name, api))
  return hosts
}

/** Waits until every connection has closed, or the timeout has passed. */
async function waitForConnections({ connections }: EdgeRuntime, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (connections.size > 0 && performance.now() < deadline) {
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
