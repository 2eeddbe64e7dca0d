import type { AddressInfo, Server } from 'node:net'
import type { TrustedProxies } from '../base/http/forwarded.ts'
import { ByteBudgets } from '../base/io/memory/byte-budget.ts'
import { TimerWheel } from '../base/io/memory/timer-wheel.ts'
import { WindowBudget } from '../base/io/memory/window-budget.ts'
import { acceptPending } from '../base/io/sockets/accept-pending.ts'
import type { ConcurrencyLimits } from '../base/io/sockets/concurrency-limiter.ts'
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
import type { TunnelLookup } from './contracts/tunnels.ts'
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
import type { CountUpdate, PublishCounts } from './stats/shared-counts.ts'
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
  /** Tells other processes what is counted here against rate limits and by circuit breakers, if there are any. */
  readonly publishCounts?: PublishCounts | undefined
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

const DEFAULT_MAX_CONNECTIONS = 16_384

/** The public side of the server: its listeners and their routing table. */
export class Edge {
  /** The bound addresses. */
  readonly addresses: { http?: AddressInfo; https?: AddressInfo } = {}
  /** Public TCP ports, for the sessions that bind tunnels to them. */
  readonly ports: TcpPorts
  /** The record kinds that configure edges, and the follower that receives their changes. */
  readonly kinds: readonly string[] = edgeKinds
  readonly follower: EdgeFollower
  /** Counters of edges and routes, which of them are broken, and whether every change has been applied. */
  readonly scopes: Pick<EdgeTable, 'counts' | 'countsOf' | 'broken' | 'brokenIn' | 'settled' | 'flush'>
  /** Traffic of each account: totals, and the last hour. */
  readonly traffic: Pick<Traffic, 'totals' | 'countries' | 'accounts'> & {
    history(accountId: string): TrafficHistoryView
  }
  readonly #dependencies: EdgeDependencies
  readonly #listen: ListenOn
  readonly #settings: LimitSettings
  readonly #runtime: EdgeRuntime
  readonly #services: EdgeServices
  readonly #routing: ReturnType<typeof createRouting>
  readonly #connectionLimits: ConcurrencyLimits
  readonly #tlsPolicies = new TlsPolicies()
  readonly #history = new TrafficHistory()
  readonly #servers: Server[] = []
  readonly #onError: (err: unknown) => void
  #sampler: NodeJS.Timeout | undefined
  #stopped: Promise<void> | undefined

  constructor(dependencies: EdgeDependencies) {
    const { config, log, tunnels, bindingIngress } = dependencies
    const { reusePort = false, listen = openListener, maxConnections = DEFAULT_MAX_CONNECTIONS } = config
    this.#dependencies = dependencies
    this.#onError = (err) => log.error({ err }, 'edge connection failed')
    this.#settings = { ...defaultLimits, ...config.limits }
    this.#listen = (server, name, address) => listen(server, name, { ...address, reusePort })
    this.#connectionLimits = { total: maxConnections, isShared: config.isShared }
    const runtime = createRuntime(dependencies, this.#settings, this.#onError)
    this.#runtime = runtime
    this.#services = createServices(dependencies, runtime.clock)
    const portRange = { ...config.tcp, reusePort, listen }
    this.ports = new TcpPorts(runtime, portRange, this.#connectionLimits, config.proxyProtocol?.tcp)
    this.#routing = createRouting({
      runtime,
      tunnels,
      tlsPolicies: this.#tlsPolicies,
      ports: this.ports,
      services: this.#services,
      dial: dependencies.dial ?? createDial(),
      publishCounts: dependencies.publishCounts,
      compileSelectors: bindingIngress?.compileSelectors ?? (() => () => false),
      platformHosts: createPlatformHosts(runtime, this.#tlsPolicies, dependencies),
    })
    runtime.table = this.#routing.routes
    runtime.findErrorPage = this.#routing.findErrorPage
    runtime.clusterServices = this.#routing.clusterServices
    this.follower = this.#routing.edges
    this.scopes = this.#routing.edges
    this.traffic = {
      totals: (accountId) => runtime.traffic.totals(accountId),
      countries: (accountId) => runtime.traffic.countries(accountId),
      accounts: () => runtime.traffic.accounts(),
      history: (accountId) => this.#history.viewOf(accountId),
    }
  }

  async start(): Promise<void> {
    const runtime = this.#runtime
    const { config } = this.#dependencies
    runtime.timers.start()
    this.#sampler = setInterval(() => this.#history.sample(runtime.traffic.accounts()), HISTORY_INTERVAL_MS)
    if (config.http !== false) {
      const server = createHttpListener(runtime, this.#connectionLimits, config.proxyProtocol?.http)
      this.#servers.push(server)
      this.addresses.http = await this.#listen(server, 'http', config.http)
      runtime.publicHttpPort = config.publicHttpPort ?? this.addresses.http.port
    }
    if (config.https !== false) {
      const server = this.#createTlsListener()
      this.#servers.push(server)
      this.addresses.https = await this.#listen(server, 'https', config.https)
      runtime.publicHttpsPort = config.publicHttpsPort ?? this.addresses.https.port
    }
  }

  /** Adds what another process has counted. */
  addCounts(updates: readonly CountUpdate[]): void {
    this.#routing.counts.add(updates)
  }

  /** Stops accepting, lets exchanges in flight finish, and closes the rest after `drainMs`, by default `limits.drain` (P9); once. */
  stop(drainMs = this.#settings.drain): Promise<void> {
    this.#stopped ??= this.#drainAndClose(drainMs)
    return this.#stopped
  }

  #createTlsListener(): Server {
    const { certificates, tickets, config, bindingIngress } = this.#dependencies
    const { clusterServices } = this.#routing
    return createTlsListener(this.#runtime, {
      certificates,
      tickets,
      defaultTlsPolicy: this.#tlsPolicies.get({ http: true }),
      handshakeTimeout: this.#settings.handshake,
      connectionLimits: this.#connectionLimits,
      proxyProtocol: config.proxyProtocol?.https,
      bindingIngress: bindingIngress && {
        host: bindingIngress.host,
        // Any certificate: a rejection then has a reason that the operator can log.
        tlsPolicy: this.#tlsPolicies.get({ http: false, clientVerification: 'require-any' }),
        accept: (client) =>
          new BindingHandshake(this.#runtime, client, (print) => clusterServices.operatorWith(print)),
      },
    })
  }

  async #drainAndClose(drainMs: number): Promise<void> {
    const runtime = this.#runtime
    runtime.draining = true
    await acceptPending([...this.#servers, ...this.ports.servers])
    const serversClosed = this.#servers.map(
      (server) => new Promise<void>((resolve) => server.close(() => resolve())),
    )
    this.ports.close()
    clearInterval(this.#sampler)
    this.#routing.stop()
    for (const reader of Object.values(this.#dependencies.config.proxyProtocol ?? {})) reader?.close()
    fanOut([...runtime.connections], (connection) => connection.drain(), this.#onError)
    await waitForConnections(runtime, drainMs)
    fanOut([...runtime.connections], (connection) => connection.destroy(), this.#onError)
    fanOut([...runtime.idleUpstreams], (upstream) => upstream.close(), this.#onError)
    await Promise.all([...serversClosed, this.#services.bodyReplacer.close()])
    runtime.timers.stop()
  }
}

type ListenOn = (server: Server, name: string, address: EdgeListenAddress) => Promise<AddressInfo>

function createRuntime(
  { config, log, observe, ipData, windows, acmeChallenge, readiness, clock = systemClock }: EdgeDependencies,
  settings: LimitSettings,
  onError: (err: unknown) => void,
): EdgeRuntime {
  const timers = new TimerWheel(clock, config.tickMs, onError)
  return {
    flushScheduler: new FlushScheduler(onError),
    timers,
    clock,
    log,
    limits: toTickLimits(settings, timers),
    connections: new Set(),
    idleUpstreams: new Set(),
    trustedProxies: config.trustedProxies,
    observer: observe,
    traffic: new Traffic(ipData),
    heldBodyBudgets: new ByteBudgets({ ...HELD_BODY_LIMITS, isShared: config.isShared }),
    localReplyBudgets: new ByteBudgets({ ...LOCAL_REPLY_LIMITS, isShared: config.isShared }),
    windows: windows ?? new WindowBudget(),
    acmeChallenge,
    readiness,
    errorPagesUrl: config.errorPagesUrl ?? (() => undefined),
    findErrorPage: () => undefined,
    clusterServices: NO_CLUSTER_SERVICES,
    publicHttpsPort: config.publicHttpsPort ?? 443,
    publicHttpPort: config.publicHttpPort ?? 80,
    table: EMPTY_TABLE,
    draining: false,
  }
}

function createServices(dependencies: EdgeDependencies, clock: Clock): EdgeServices {
  const { logins, outbound, policyOutbound, ipData = NO_IP_DATA, takeRateLease } = dependencies
  return {
    logins,
    signingKeys: outbound && createSnsKeys({ fetch: outbound.fetch, clock }),
    keySets: outbound && createKeySets({ fetch: outbound.fetch, clock }),
    ipData,
    outboundCalls: policyOutbound && createOutboundCalls(policyOutbound),
    bodyReplacer: createBodyReplacer(),
    takeRateLease,
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
