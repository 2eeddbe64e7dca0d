/**
 * Wires all parts into one process and starts them. This folder may use every part; no part may use it. Start with
 * `startServer` below, then `settings.ts` (flags and variables) and `cli.ts` with `subcommands.ts` (the command line).
 * `check/` holds `adit server check`. The other files adapt one part to another: certificates, host keys, credentials
 * and logins shared between nodes.
 */
import { randomBytes, randomUUID } from 'node:crypto'
import { mkdir, readFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { Registry as MetricsRegistry } from 'prom-client'
import { createApi, createProbeListener, createRenderContext } from '../api/index.ts'
import { createAuth, createIpRestrictions, firstAccount } from '../auth/index.ts'
import { Admission } from '../base/admission.ts'
import { systemClock } from '../base/clock.ts'
import { failpoint } from '../base/failpoint.ts'
import { joinHostPort, parseHostPort, publicUrl } from '../base/hostport.ts'
import { createLog } from '../base/log.ts'
import { createDial } from '../base/outbound/guarded-dial.ts'
import { createOutbound } from '../base/outbound/outbound.ts'
import { createOutboundThread } from '../base/outbound/outbound-thread.ts'
import { Secret } from '../base/secret.ts'
import { createCerts, createResolver, sshFingerprint } from '../certs/index.ts'
import { createCluster, NODE_NAME } from '../cluster/index.ts'
import { createChangeTracker, createDashboard, createPasswords, mountViews } from '../dashboard/index.ts'
import { createDns, createZones, nameServerNames } from '../dns/index.ts'
import { createEdge, createLogins, type OauthEndpoints } from '../edge/index.ts'
import { createEvents, readEndpoints } from '../events/index.ts'
import {
  createReservations,
  followReservations,
  GRACE_MS,
  type NameClaimLimits,
  NameClaims,
  RESERVING_KINDS,
} from '../naming/index.ts'
import {
  createAgentGateway,
  createBinder,
  createNameWatch,
  createOnlineResources,
  createResumeTokens,
  createSshGateway,
  Registry,
  RequestLog,
} from '../sessions/index.ts'
import {
  type Follower,
  openLoginRecords,
  openNameClaims,
  openNodes,
  openStore,
  type Store,
} from '../store/index.ts'
import { computeConnectionLimits, openFilesLimit } from './connection-limits.ts'
import { type CreatedAccount, createAccountWithPassword } from './create-account.ts'
import { CREDENTIAL_KINDS, createCredentialWatch } from './credential-watch.ts'
import { type CredentialsFile, readCredentialsFile, writeCredentialsFile } from './credentials-file.ts'
import { createFreshness } from './freshness.ts'
import { createAgentContexts, createGatewayCertificate } from './gateway-certificate.ts'
import { createLoginSync } from './login-sync.ts'
import { registerPlatformMetrics } from './metrics.ts'
import { loadNodeId } from './node-id.ts'
import { combineListeners, combineObservers } from './observers.ts'
import { lockRoles } from './role-locks.ts'
import { openRootAuthority } from './root-authority.ts'
import { createServedCertificates } from './served-certificates.ts'
import {
  InvalidSetting,
  ROLES,
  type RoleName,
  resolveMasterKeyFile,
  type ServerSettings,
} from './settings.ts'
import { openSshHostIdentity } from './ssh-host-identity.ts'
import { VERSION } from './version.ts'

/** A running platform. */
export interface RunningServer {
  readonly credentials: CredentialsFile
  /** The account created by the first start. */
  readonly createdAccount: CreatedAccount | undefined
  /** Why the database is unavailable, if the server started without it. */
  readonly databaseError: string | undefined
  stop(): Promise<void>
}

/** A component that starts and stops with the server. */
interface Lifecycle {
  start(): Promise<void>
  stop(): Promise<void>
}

/** The roles that keep working while the database is unavailable. */
const TRAFFIC_ROLES: readonly RoleName[] = ['edge', 'gateway', 'dns']

/** How long a failed start waits for the components it had started. */
const CLEANUP_TIMEOUT_MS = 5_000

/** Addresses that are available once the listeners are bound. */
interface BoundAddresses {
  apiUrl: string
  httpPort: number
  httpsPort: number
}

/** A random secret in the store, shared by all nodes and kept across restarts. */
async function loadOrCreateSecret(store: Store, name: string): Promise<string> {
  const stored = await store.setting(name)
  if (stored !== undefined) return stored
  const secret = randomBytes(32).toString('base64')
  await store.putSetting(name, secret, { secret: true })
  return secret
}

/** Alternative endpoints of OAuth providers, from the operator's file. */
async function readOauthEndpoints(file: string | undefined): Promise<OauthEndpoints> {
  if (file === undefined) return {}
  try {
    return JSON.parse(await readFile(file, 'utf8')) as OauthEndpoints
  } catch (error) {
    throw new InvalidSetting(`--oauth-endpoints: ${file} cannot be read as JSON: ${(error as Error).message}`)
  }
}

/** With `auto`, peers exist only on a shared database or when this process does not run every role. */
function resolvePeerAddress({ peerAddr, databaseUrl, roles }: ServerSettings) {
  if (peerAddr !== 'auto') return peerAddr
  const isStandalone = databaseUrl === undefined && ROLES.every((role) => roles.has(role))
  return isStandalone ? undefined : { host: '127.0.0.1', port: 0 }
}

/** The address agents dial: the operator's setting, or the bound address unless that is a wildcard. */
function resolveAgentAddress(
  { agentPublicAddr }: ServerSettings,
  boundAddr: string | null,
): string | undefined {
  if (agentPublicAddr === false || boundAddr === null) return undefined
  if (agentPublicAddr !== undefined) return agentPublicAddr
  return /^(0\.0\.0\.0|\[?::\]?):/.test(boundAddr) ? undefined : boundAddr
}

/**
 * Starts the components in order. Each is registered for stopping before it starts: a start that fails halfway may
 * already have opened a listener.
 */
async function startInOrder(disposables: AsyncDisposableStack, parts: readonly Lifecycle[]): Promise<void> {
  for (const part of parts) {
    disposables.defer(() => part.stop())
    await part.start()
    failpoint('server.start')
  }
}

/** Timings that tests shorten. */
export interface ServerLimits {
  readonly claims?: Partial<NameClaimLimits>
  /** Grace period during which the names of a lost session stay reserved for its credential. */
  readonly graceMs?: number
}

/**
 * Wires the parts and starts them; only this file knows all of them. A failed start stops everything it had started
 * before it throws.
 */
export async function startServer(
  settings: ServerSettings,
  limits: ServerLimits = {},
): Promise<RunningServer> {
  const log = createLog('adit', settings.logLevel)
  const clock = systemClock
  const disposables = new AsyncDisposableStack()
  await mkdir(settings.dataDir, { recursive: true, mode: 0o700 })
  try {
    disposables.use(lockRoles(settings.dataDir, settings.roles))
    const store = await openStore({
      url: settings.databaseUrl,
      dataDir: settings.dataDir,
      masterKeyFile: resolveMasterKeyFile(settings),
      keepCopy: TRAFFIC_ROLES.some((role) => settings.roles.has(role)),
      clock,
      log,
    })
    disposables.defer(() => store.close())
    const { authority, file: caFile } = await openRootAuthority({
      store,
      dataDir: settings.dataDir,
      clock,
      log,
    })
    const first = await firstAccount(store)
    const passwords = createPasswords()
    const createdAccount =
      first === undefined
        ? await createAccountWithPassword({ store, passwords, clock }, 'default', `admin@${settings.domain}`)
        : undefined
    const operatorAccount = createdAccount?.accountId ?? first?.id ?? ''
    const metrics = new MetricsRegistry()
    const auth = createAuth({ store, clock })
    const restrictions = createIpRestrictions({ store })
    const boundAddresses: BoundAddresses = { apiUrl: settings.apiUrl ?? '', httpPort: 0, httpsPort: 0 }
    const publicAddress = {
      domain: settings.domain,
      // Few programs besides browsers and curl resolve names below localhost.
      tcpHost: settings.domain.endsWith('localhost') ? 'localhost' : `tcp.${settings.domain}`,
      get httpPort() {
        return settings.publicHttpPort ?? boundAddresses.httpPort
      },
      get httpsPort() {
        return settings.publicHttpsPort ?? boundAddresses.httpsPort
      },
    }

    const outbound = createOutbound({ allow: settings.outboundAllow })
    // Only calls to the ACME server trust the CA of a private ACME server.
    const acmeOutbound = createOutbound({
      allow: settings.outboundAllow,
      ...(settings.acmeCa !== undefined && { extraCa: [await readFile(settings.acmeCa, 'utf8')] }),
    })
    disposables.defer(async () => void (await Promise.all([outbound.close(), acmeOutbound.close()])))
    const certs = createCerts({
      store,
      authority,
      outbound: acmeOutbound,
      clock,
      log,
      base: settings.domain,
      region: settings.region,
      addresses: settings.publicIps,
      nameServers: nameServerNames(settings.domain),
      resolver: createResolver(settings.dnsResolver),
      isBound: (name) =>
        registry.find('https', name) !== undefined || registry.find('tls', name) !== undefined,
      jobs: settings.roles.has('jobs'),
      ...(settings.acmeDirectory !== undefined && {
        acme: { directory: settings.acmeDirectory, email: settings.acmeEmail },
      }),
    })
    const zones = createZones({
      store,
      base: settings.domain,
      addresses: settings.publicIps,
      inputs: certs,
      log,
    })
    const dns = settings.dnsAddr && createDns({ table: zones.table, addr: settings.dnsAddr, clock, log })

    const node = await loadNodeId(settings.dataDir)
    const deliveries = createOutboundThread({ allow: settings.outboundAllow })
    disposables.defer(() => deliveries.close())
    const events = createEvents({
      store,
      outbound: deliveries,
      node,
      clock,
      log,
      metrics,
      apiUrl: () => boundAddresses.apiUrl,
      jobs: settings.roles.has('jobs'),
      endpoints: readEndpoints(process.env),
    })

    const idpHost = `idp.${settings.domain}`
    const idpUrl = () => publicUrl('https', idpHost, publicAddress.httpsPort)
    const loginSync = createLoginSync({
      records: openLoginRecords(store),
      clock,
      log,
      jobs: settings.roles.has('jobs'),
    })
    const logins = createLogins({
      outbound,
      clock,
      store: loginSync.ledger,
      idpUrl,
      key: new Secret(Buffer.from(await loadOrCreateSecret(store, 'login.key'), 'base64')),
      oauthEndpoints: await readOauthEndpoints(settings.oauthEndpoints),
      callbackLimit: settings.loginRateLimit,
    })

    // Traffic: agents bind tunnels in sessions, and the edge opens streams on them.
    const nameSpans = { graceMs: limits.graceMs ?? GRACE_MS, cooldownMs: settings.nameCooldown }
    const claims = new NameClaims({
      rows: openNameClaims(store),
      nodeId: node,
      startId: randomUUID(),
      spans: nameSpans,
      clock,
      log,
      onConfirmed: ({ account, session, tunnel }, fence) => registry.confirm(account, session, tunnel, fence),
      onLost: ({ account, session, tunnel }) => registry.revoke(account, session, tunnel),
      ...(limits.claims && { limits: limits.claims }),
    })
    const registry = new Registry({
      clock,
      graceMs: nameSpans.graceMs,
      isServing: () => claims.serving,
      onOutranked: ({ id, url, fence }, by) =>
        log.warn({ tunnel: id, url, fence, by }, 'tunnel ended: newer claim on its name'),
      emit: combineListeners(log, [
        (event) => event.what === 'tunnel_stopped' && claims.release(event.tunnel.id, event.kept),
        (event) => nameWatch.onLiveEvent(event),
        (event) => events.onLive(event),
        (event) => cluster?.onLive(event),
      ]),
      ports: {
        acquire: (port, avoided) => edge.ports.acquire(port, avoided),
        release: (port) => edge.ports.release(port),
      },
    })
    const requestLog = new RequestLog()
    const connectionLimits = computeConnectionLimits(await openFilesLimit())
    const sessionAdmission = new Admission({ total: connectionLimits.sessions })
    const edge = createEdge({
      tunnels: registry,
      observe: combineObservers(log, events.observer, requestLog),
      acmeChallenge: certs.httpChallenge,
      logins,
      outbound,
      loginHost: { name: idpHost, entry: logins.host },
      clock,
      log,
      certificates: createServedCertificates(certs),
      dial: createDial({ allow: settings.outboundAllow, ownAddresses: settings.publicIps }),
      config: {
        http: settings.httpAddr ?? false,
        https: settings.httpsAddr ?? false,
        tcp: { host: settings.tcpHost, first: settings.tcpPorts[0], last: settings.tcpPorts[1] },
        ...(settings.publicHttpsPort !== undefined && { publicHttpsPort: settings.publicHttpsPort }),
        ...(settings.publicHttpPort !== undefined && { publicHttpPort: settings.publicHttpPort }),
        maxConnections: connectionLimits.clients,
        isShared: settings.sharedSources,
      },
    })
    let agentAddr: string | null = null
    const nodeCertificate = await createGatewayCertificate(authority, [NODE_NAME], { clock, log })
    const peerAddr = resolvePeerAddress(settings)
    const cluster =
      peerAddr &&
      createCluster({
        nodes: openNodes(store),
        id: randomUUID(),
        registry,
        released: () => claims.settled(),
        secret: new Secret(Buffer.from(await loadOrCreateSecret(store, 'cluster.secret'), 'base64')),
        secureContext: nodeCertificate.context,
        get authorityPem() {
          return authority.certificatePem
        },
        listen: settings.roles.has('gateway') ? peerAddr : undefined,
        advertise: settings.peerAdvertise,
        agentAddress: () => resolveAgentAddress(settings, agentAddr),
        clock,
        log,
      })
    const resume = createResumeTokens(
      new Secret(Buffer.from(await loadOrCreateSecret(store, 'sessions.resume_key'), 'base64')),
    )
    const agentHosts = [
      'localhost',
      '127.0.0.1',
      settings.domain,
      `connect.${settings.domain}`,
      settings.agentAddr?.host ?? '',
      (settings.agentPublicAddr && parseHostPort(settings.agentPublicAddr)?.host.replace(/^\[|\]$/g, '')) ||
        '',
    ]
    const gatewayCertificate = await createGatewayCertificate(
      authority,
      [...new Set(agentHosts)].filter((host) => host !== ''),
      { clock, log },
    )
    const names = createReservations({ store, domain: settings.domain })
    const nameWatch = createNameWatch({ registry, reservations: names, log })
    const binder = createBinder({
      registry,
      reservations: names,
      address: publicAddress,
      resume,
      claims,
      clock,
    })
    const admits = (accountId: string, ip: string) => restrictions.admits(accountId, 'agent', ip)
    const gateway = createAgentGateway({
      describeAccount: async (accountId) => ({
        name: String((await store.fallbackReader.get('accounts', accountId, accountId))?.data.name ?? ''),
        plan: '',
        banner: '',
      }),
      registry,
      resume,
      binder,
      authenticate: auth.authtoken,
      admits,
      secureContext: gatewayCertificate.context,
      namedContext: createAgentContexts(certs),
      sessions: sessionAdmission,
      isShared: settings.sharedSources,
      ingressAccount: (serverName) => certs.ingressOf(serverName)?.account,
      region: settings.region,
      connectAddresses: () => cluster?.agentAddresses ?? [],
      serverVersion: VERSION,
      clock,
      log,
    })

    const sshHost = await openSshHostIdentity({
      store,
      clock,
      log,
      authorityId: settings.sshHostCa,
      hosts: [...new Set([...agentHosts, `tcp.${settings.domain}`, settings.sshAddr?.host ?? ''])].filter(
        (host) => host !== '',
      ),
    })
    const sshGateway = createSshGateway({
      registry,
      binder,
      address: publicAddress,
      hostIdentity: sshHost.identity,
      authenticate: (publicKey, userName) => auth.sshKey(sshFingerprint(publicKey), userName),
      admits,
      requestLog,
      sessions: sessionAdmission,
      isShared: settings.sharedSources,
      region: settings.region,
      clock,
      log,
    })

    const freshness = createFreshness({ check: store.check, clock })
    registerPlatformMetrics(metrics, {
      edge,
      staleness: freshness.staleness,
      agents: () => gateway.connections,
      heap: () => process.memoryUsage.rss(),
    })

    const dashboard = createDashboard({
      store,
      auth,
      restrictions,
      apiUrl: () => boundAddresses.apiUrl,
      clock,
      log,
      passwords,
    })

    let serving = false
    // Configuration: the API writes, the store publishes changes, the parts apply them.
    const api = createApi({
      store,
      parts: {
        auth,
        restrictions,
        browserAuth: dashboard.browserAuth,
        events,
        online: createOnlineResources(
          registry,
          createRenderContext(() => boundAddresses.apiUrl),
        ),
      },
      config: {
        apiUrl: () => boundAddresses.apiUrl,
        domain: settings.domain,
        operatorAccount: () => operatorAccount,
        region: settings.region,
        idpUrl,
        httpsPort: () => publicAddress.httpsPort,
        tcpHost: publicAddress.tcpHost,
        tcpPorts: settings.tcpPorts,
        nameSpans,
        acme: settings.acmeDirectory !== undefined,
        rateLimit: settings.apiRateLimit,
        maxConnections: connectionLimits.apiCalls,
        isShared: settings.sharedSources,
        version: VERSION,
      },
      clock,
      log,
      metrics,
      async ready() {
        if (!serving) throw new Error('The server is starting or stopping.')
        await store.checkWritable()
      },
    })
    dashboard.mount(api)

    const probes = createProbeListener(api.probes)
    let sshAddr: string | null = null
    const publicUrls = () => ({
      http_url:
        edge.addresses.http === undefined ? null : publicUrl('http', settings.domain, publicAddress.httpPort),
      https_url:
        edge.addresses.https === undefined
          ? null
          : publicUrl('https', settings.domain, publicAddress.httpsPort),
    })
    const changes = createChangeTracker({ store })
    mountViews(api, {
      log,
      store,
      live: { traffic: edge.traffic, places: edge.scopes, online: registry, changes },
      platform: () => ({
        ...publicUrls(),
        domain: settings.domain,
        tcp_host: publicAddress.tcpHost,
        agent_addr: agentAddr,
        ssh_addr: sshAddr,
        acme: settings.acmeDirectory !== undefined,
        ca_pem: authority.certificatePem,
      }),
    })
    const hasRole = (role: RoleName) => settings.roles.has(role)
    const follow = (kinds: readonly string[], follower: Follower): Lifecycle => {
      let following: { stop(): void } | undefined
      return {
        start: async () => {
          following = await store.follow(kinds, follower)
        },
        stop: async () => following?.stop(),
      }
    }
    let edgeStopped: Promise<void> | undefined
    const stopEdge = () => {
      edgeStopped ??= edge.stop()
      return edgeStopped
    }
    await startInOrder(disposables, [
      // Probes respond from the beginning of the start to the end of the stop.
      {
        start: async () => void (settings.probeAddr && (await probes.listen(settings.probeAddr))),
        stop: () => probes.close(),
      },
      freshness,
      { start: restrictions.start, stop: async () => restrictions.stop() },
      { start: changes.start, stop: async () => changes.stop() },
      follow(
        CREDENTIAL_KINDS,
        createCredentialWatch({
          changeAcl: (id, rules) => registry.changeAcl(id, rules),
          endCredential(id, reason) {
            registry.endCredential(id, reason)
            claims.forgetCredential(id)
          },
        }),
      ),
      follow(RESERVING_KINDS, followReservations(nameWatch.onReserved)),
      { start: async () => {}, stop: async () => nameWatch.stop() },
      events,
      certs,
      { start: async () => void (hasRole('dns') && (await zones.start())), stop: zones.stop },
      {
        start: async () => void (hasRole('dns') && (await dns?.start())),
        stop: async () => void (await dns?.stop()),
      },
      { start: async () => {}, stop: logins.close },
      { start: () => loginSync.start(logins.applyRevocations), stop: loginSync.stop },
      // First the routing table, then the listeners.
      ...(hasRole('edge') ? [follow(edge.kinds, edge.follower)] : []),
      {
        start: async () => void (await cluster?.start()),
        async stop() {
          await cluster?.stop()
          nodeCertificate.stop()
        },
      },
      {
        async start() {
          if (hasRole('edge')) await edge.start()
          // When another process is the edge, its ports come from the settings.
          boundAddresses.httpPort = edge.addresses.http?.port ?? settings.httpAddr?.port ?? 80
          boundAddresses.httpsPort = edge.addresses.https?.port ?? settings.httpsAddr?.port ?? 443
        },
        stop: stopEdge,
      },
      {
        start: async () => void (hasRole('gateway') && (await claims.start())),
        stop: async () => void (hasRole('gateway') && (await claims.stop())),
      },
      {
        async start() {
          if (settings.agentAddr === undefined || !hasRole('gateway')) return
          const { port } = await gateway.listen(settings.agentAddr.port, settings.agentAddr.host)
          agentAddr = joinHostPort(settings.agentAddr.host, port)
          await cluster?.announce()
        },
        async stop() {
          await gateway.close()
          gatewayCertificate.stop()
          registry.close()
        },
      },
      {
        async start() {
          if (settings.sshAddr === undefined || !hasRole('gateway')) return
          const { port } = await sshGateway.listen(settings.sshAddr.port, settings.sshAddr.host)
          sshAddr = joinHostPort(settings.sshAddr.host, port)
        },
        async stop() {
          await sshGateway.close()
          sshHost.stop()
        },
      },
      // Drains client connections, local and from other nodes, while the sessions they use still exist.
      { start: async () => {}, stop: async () => void (await Promise.all([stopEdge(), cluster?.drain()])) },
      {
        async start() {
          if (settings.apiAddr === undefined || !hasRole('api')) return
          const { port } = await api.listen(settings.apiAddr)
          boundAddresses.apiUrl = settings.apiUrl ?? `http://${joinHostPort(settings.apiAddr.host, port)}`
        },
        stop: () => api.close(),
      },
    ])

    serving = true
    const previous = await readCredentialsFile(settings.dataDir)
    // Keeps the addresses of roles that another process on this directory runs.
    const credentials: CredentialsFile = {
      api_url: hasRole('api') ? boundAddresses.apiUrl : (previous?.api_url ?? ''),
      api_key: createdAccount?.apiKey.reveal() ?? previous?.api_key ?? null,
      authtoken: createdAccount?.authtoken.reveal() ?? previous?.authtoken ?? null,
      agent_addr: hasRole('gateway') ? agentAddr : (previous?.agent_addr ?? null),
      ca_file: caFile,
      ...(hasRole('edge')
        ? publicUrls()
        : { http_url: previous?.http_url ?? null, https_url: previous?.https_url ?? null }),
      ssh_addr: hasRole('gateway') ? sshAddr : (previous?.ssh_addr ?? null),
    }
    await writeCredentialsFile(settings.dataDir, credentials).catch((err: unknown) => {
      // New secrets are stored nowhere else in clear text; on later starts only addresses are lost, and those are printed.
      if (createdAccount !== undefined) throw err
      log.warn({ err }, 'credentials.json not updated: its addresses may be outdated')
    })
    failpoint('server.start')
    return {
      credentials,
      createdAccount: createdAccount,
      databaseError: await store.check().then(
        () => undefined,
        (error: Error) => error.message,
      ),
      stop() {
        serving = false
        return disposables.disposeAsync()
      },
    }
  } catch (error) {
    // Report why the start failed, not the errors of the cleanup.
    const cleanup = disposables.disposeAsync()
    await Promise.race([cleanup, delay(CLEANUP_TIMEOUT_MS, undefined, { ref: false })]).catch(
      (err: unknown) => log.error({ err }, 'cleanup after a failed start failed'),
    )
    throw error
  }
}
