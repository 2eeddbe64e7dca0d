import { randomBytes } from 'node:crypto'
import type { TestContext } from 'node:test'
import { createSecureContext } from 'node:tls'
import { createTestCa } from '../../../test/support/test-ca.ts'
import type { TunnelPrincipal } from '../../auth/index.ts'
import { ConcurrencyLimiter } from '../../base/io/sockets/concurrency-limiter.ts'
import { silentLog } from '../../base/process/log.ts'
import { covers, isWithin, owningNames } from '../../base/values/domain.ts'
import { Secret } from '../../base/values/secret.ts'
import { createNameWatch, type NameWatch, type Reservations } from '../../naming/index.ts'
import { type AgentSession, type AgentSessionOptions, connectAgentSession } from '../../protocol/index.ts'
import { Binder, type BinderOptions } from '../bind/bind.ts'
import type { PublicAddress } from '../bind/public-address.ts'
import { type AgentGateway, type AgentGatewayOptions, createAgentGateway } from '../gateway/agent-gateway.ts'
import { Registry, type RegistryOptions } from '../registry/registry.ts'
import type { LiveEvent } from '../session/live-event.ts'
import type { LiveTunnel } from '../session/live-tunnel.ts'
import { createResumeTokens } from '../session/resume.ts'
import type { PublicPorts } from '../tunnel.ts'

/** An agent gateway with its dependencies in memory: credentials, reservations and ports. */
export interface Platform {
  caPem: string
  /** `host:port` for agents. */
  addr: string
  port: number
  registry: Registry
  gateway: AgentGateway
  events: LiveEvent[]
  credentials: Map<string, TunnelPrincipal>
  reservations: Map<string, { id: string; accountId: string }>
  edges: Set<string>
  openPorts: Set<number>
  /** Notify it when a reservation or edge is added. */
  nameWatch: NameWatch<LiveTunnel>
  /** Runs before the server stops, for clients that would keep reconnecting. */
  beforeStop(stop: () => unknown): void
  /** Connects the adit agent; through another port, such as a relay's, if it is given. */
  agent(t: TestContext, options?: Partial<AgentSessionOptions & { port: number }>): Promise<AgentSession>
}

export interface PlatformOptions {
  gateway?: Partial<AgentGatewayOptions>
  registry?: Partial<RegistryOptions>
  address?: Partial<PublicAddress>
  maxTunnelsPerSession?: number
  claims?: BinderOptions['claims']
  port?: number
  resumeKey?: Buffer
  /** Takes over the credentials and reservations of an earlier server. */
  previous?: Platform
}

export const TOKEN = `${'a'.repeat(27)}_${'0'.repeat(43)}`

const testCa = createTestCa()
const identityOf = testCa.then((ca) => ca.issue('localhost', '127.0.0.1'))

export async function startPlatform(t: TestContext, options: PlatformOptions = {}): Promise<Platform> {
  const { caPem } = await testCa
  const context = createSecureContext(await identityOf)
  const credentials: Platform['credentials'] =
    options.previous?.credentials ??
    new Map([[TOKEN, { accountId: 'ac_1', credentialId: 'cr_1', ownerId: 'usr_1', acl: [] }]])
  const reservations: Platform['reservations'] = options.previous?.reservations ?? new Map()
  const edges = new Set<string>()
  const openPorts = new Set<number>()
  const events: LiveEvent[] = []
  const registry = new Registry({
    ports: createPorts(openPorts),
    ...options.registry,
  })
  registry.subscribe((event) => events.push(event))
  const names = createNames(reservations, edges)
  const nameWatch = createNameWatch<LiveTunnel>({
    reservations: names,
    evict: (tunnel, reason) => registry.evict(tunnel, reason),
    log: silentLog,
    recheckMs: 200,
  })
  registry.subscribe((event) => {
    if (event.type === 'tunnel_started') nameWatch.add(event.tunnel)
    else if (event.type === 'tunnel_stopped') nameWatch.remove(event.tunnel)
  })
  const address = {
    domain: 'adit.test',
    httpPort: 80,
    httpsPort: 443,
    tcpHost: 'tcp.adit.test',
    ...options.address,
  }
  const resume = createResumeTokens(new Secret(options.resumeKey ?? randomBytes(32)))
  const binder = new Binder({
    ...(options.claims && { claims: options.claims }),
    registry,
    reservations: names,
    address,
    resume,
    ...(options.maxTunnelsPerSession && { maxTunnelsPerSession: options.maxTunnelsPerSession }),
  })
  const gateway = createAgentGateway({
    secureContext: () => context,
    authenticate: async (token) => credentials.get(token),
    registry,
    binder,
    resume,
    region: 'us',
    serverVersion: '0.1.0',
    log: silentLog,
    sessions: new ConcurrencyLimiter({ total: 1000 }),
    legs: new ConcurrencyLimiter({ total: 1000 }),
    ...options.gateway,
  })
  const { port } = await gateway.listen(options.port ?? 0, '127.0.0.1')
  const stops: (() => unknown)[] = []
  t.after(async () => {
    for (const stop of stops) await stop()
    await gateway.close()
    nameWatch.stop()
    registry.close()
  })
  return {
    caPem,
    addr: `localhost:${port}`,
    port,
    registry,
    gateway,
    events,
    credentials,
    reservations,
    edges,
    openPorts,
    nameWatch,
    beforeStop: (stop) => void stops.push(stop),
    async agent(t, agentOptions = {}) {
      const session = await connectAgentSession({
        host: 'localhost',
        port,
        ca: caPem,
        identity: agentIdentity(),
        onProxy: (_header, stream) => stream.reset(),
        onCommand: async () => {},
        onClose() {},
        ...agentOptions,
      })
      t.after(() => session.close())
      return session
    },
  }
}

/** The adit agent's identity in tests. */
export function agentIdentity(
  changes: Partial<AgentSessionOptions['identity']> = {},
): AgentSessionOptions['identity'] {
  return {
    authtoken: new Secret(TOKEN),
    version: '0.1.0',
    userAgent: 'adit/0.1.0',
    clientType: 'adit',
    os: 'linux',
    arch: 'x64',
    metadata: 'a test',
    commands: { restart: '', stop: '', update: '' },
    ...changes,
  }
}

/** Ports 20000 to 20099, without real sockets. */
function createPorts(open: Set<number>): PublicPorts {
  return {
    async acquire(port, avoided) {
      let free = port ?? 20_000
      while (port === undefined && (open.has(free) || avoided?.has(free))) free++
      if (open.has(free) || free < 20_000 || free > 20_099) throw new Error(`port ${free} is not available`)
      open.add(free)
      return free
    },
    release: (port) => void open.delete(port),
  }
}

function createNames(reservations: Platform['reservations'], edges: Set<string>): Reservations {
  return {
    isPlatformName: (host) => isWithin(host, 'idp.adit.test'),
    async domain(host) {
      for (const [name, reservation] of reservations) {
        if (name === host || covers(name, host)) return { ...reservation, covers: true }
      }
      for (const [name, reservation] of reservations) {
        if (isWithin(host, name)) return { ...reservation, covers: false }
      }
      return undefined
    },
    ownsDomain: async (accountId, name) =>
      [...owningNames(name)].some((reserved) => reservations.get(reserved)?.accountId === accountId),
    address: async (host, port) => reservations.get(`${host}:${port}`),
    edgeAt: async (host, port) => edges.has(port === undefined ? host : `${host}:${port}`),
  }
}
