import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '../base/clock.ts'
import { newId } from '../base/id.ts'
import { ClaimRejected, claimedName, type NameClaims } from '../naming/index.ts'
import {
  type BindOpts,
  type BindRequest,
  type LabelRequest,
  Refusal,
  refusal,
  refusals,
} from '../protocol/index.ts'
import { toEndpointOptions } from './endpoint-options.ts'
import type { LiveSession } from './live-session.ts'
import type { LiveTunnel, TunnelSpec } from './live-tunnel.ts'
import { type Reservations, requireAvailableAddress, requireAvailableName } from './name-rules.ts'
import { type PublicAddress, publicPort, tunnelUrl } from './public-url.ts'
import { randomName } from './random-name.ts'
import type { Registry } from './registry.ts'
import { parseProto, requestedAddress, requestedName } from './requested-address.ts'
import type { ResumeTokens } from './resume.ts'
import type { TunnelProto } from './tunnel.ts'

export interface BinderOptions {
  registry: Registry
  names: Reservations
  address: PublicAddress
  resume: ResumeTokens
  /** Where names are claimed before they are served; without it the registry alone decides. */
  claims?: Pick<NameClaims, 'claim' | 'release' | 'settled' | 'ports' | 'setPooled'>
  clock?: Clock
  maxTunnelsPerSession?: number
}

/** Turns what agents ask for into tunnels, or into refusals. */
export interface Binder {
  bind(session: LiveSession, request: BindRequest, open: TunnelSpec['open']): Promise<LiveTunnel>
  bindLabels(session: LiveSession, request: LabelRequest, open: TunnelSpec['open']): LiveTunnel
  /** Takes a tunnel offline at the wish of its session; resolves once its name is free for others. */
  unbind(session: LiveSession, bindId: string): Promise<void>
  /** Says whether others of the account may share a tunnel's name from now on. */
  setPooled(tunnel: LiveTunnel, pooled: boolean): void
}

const MAX_TUNNELS = 500
const MAX_TEXT_BYTES = 2048
const MAX_DESCRIPTION_BYTES = 255
const MAX_METADATA_BYTES = 4096

/** A place to sit: what the name rules worked out. */
type ResolvedAddress = Pick<TunnelSpec, 'host' | 'port' | 'url' | 'hostport' | 'reservationId'> & {
  url: string
}

/** A tunnel with an address, named before it is claimed. */
type NamedSpec = TunnelSpec & { proto: TunnelProto; url: string; identity: { id: string; startedAt: number } }

export function createBinder(options: BinderOptions): Binder {
  const { registry, names, address, resume, claims } = options
  const clock = options.clock ?? systemClock
  const maxTunnels = options.maxTunnelsPerSession ?? MAX_TUNNELS
  /** Binds under way: they count as tunnels, since any number can be asked for in one moment. */
  const pendingBinds = new WeakMap<LiveSession, number>()

  function requireCapacity(session: LiveSession, bindId: string | undefined): void {
    const tunnels = registry.tunnelsIn(session)
    if (tunnels.length + (pendingBinds.get(session) ?? 0) < maxTunnels) return
    if (tunnels.some((tunnel) => tunnel.bindId === bindId)) return
    throw refusal('too_many_tunnels', String(maxTunnels))
  }

  async function resolveName(
    session: LiveSession,
    proto: 'http' | 'https' | 'tls',
    opts: BindOpts,
  ): Promise<ResolvedAddress> {
    const host = requestedName(proto, opts, address) ?? `${randomName()}.${address.domain}`
    requireAllowedName(session, host)
    const reservation = await requireAvailableName(names, session.accountId, host)
    if (!reservation?.covers && !isFirstComeName(host, address.domain)) {
      throw refusal(host.startsWith('*.') ? 'wildcard_not_reserved' : 'name_not_reserved', host)
    }
    const port = publicPort(proto, address)
    return {
      host,
      port,
      url: tunnelUrl(proto, host, port),
      hostport: `${host}:${port}`,
      ...(reservation?.covers && { reservationId: reservation.id }),
    }
  }

  async function resolveAddress(
    session: LiveSession,
    opts: BindOpts,
    previousUrl: string | undefined,
  ): Promise<ResolvedAddress> {
    const requested = requestedAddress(opts)
    if (requested === undefined) {
      if (!session.acl.allowsAnyAddress()) throw refusal('random_address_forbidden')
      return tcpAddress(address.tcpHost, await acquireFreePort(session.accountId))
    }
    const { host, port } = requested
    const resolved = tcpAddress(host, port)
    requireAllowedTcpAddress(session, host, port)
    const reservation = await requireAvailableAddress(names, session.accountId, host, port)
    // An address the server itself handed out may be had again by the agent that had it.
    if (reservation === undefined && previousUrl !== resolved.url)
      throw refusal('address_not_reserved', resolved.hostport)
    await registry.acquirePort(port).catch(() => {
      throw refusal('name_taken', resolved.url)
    })
    return { ...resolved, ...(reservation && { reservationId: reservation.id }) }
  }

  /** A port that is reserved by nobody else and out of nobody's reach, rather one that the account had before. */
  async function acquireFreePort(accountId: string): Promise<number> {
    const { own, others } = (await claims?.ports(accountId).catch((error) => {
      throw toProtocolError(error, 'tcp://')
    })) ?? { own: [], others: [] }
    const excluded = new Set(others)
    const isAvailable = (port: number) =>
      requireAvailableAddress(names, accountId, address.tcpHost, port).then(
        (reservation) => reservation === undefined,
        () => false,
      )
    for (const candidate of own) {
      if (excluded.has(candidate) || registry.hasPort(candidate) || !(await isAvailable(candidate))) continue
      const port = await registry.acquirePort(candidate).catch(() => undefined)
      if (port !== undefined) return port
    }
    for (;;) {
      const port = await registry.acquirePort(undefined, excluded).catch(() => undefined)
      if (port === undefined) throw refusal('no_address_free')
      if (await isAvailable(port)) return port
      excluded.add(port)
      registry.releasePort(port)
    }
  }

  /** Claims the tunnel's name and puts it online. */
  async function claimAndBind(
    session: LiveSession,
    spec: NamedSpec,
    heldBefore: boolean,
  ): Promise<LiveTunnel> {
    const fence = await claims?.claim(
      {
        ...claimedName(spec),
        tunnel: spec.identity.id,
        account: session.accountId,
        credential: session.credentialId,
        client: session.clientId,
        session: session.id,
        bind: spec.bindId,
        proto: spec.proto,
        pooled: spec.poolingEnabled,
      },
      heldBefore || registry.wasHeldBy(session, spec),
    )
    try {
      // The rules may have changed while the name was looked up and claimed.
      requireAllowedAddress(session, spec)
      return registry.bind(session, { ...spec, fence })
    } catch (error) {
      claims?.release(spec.identity.id, false)
      throw error
    }
  }

  /**
   * Makes sure that the sessions which hold a name are gone, if they are of the same credential: a machine that has
   * vanished must not keep its user from its name (decision 126). Throws why the name cannot be had.
   */
  async function probeHolders(session: LiveSession, spec: NamedSpec, error: unknown): Promise<void> {
    const rejection = toProtocolError(error, spec.url)
    if (!(rejection instanceof Refusal) || rejection.number !== refusals.name_taken.number) throw rejection
    const holders =
      error instanceof ClaimRejected
        ? error.holders.map(({ session: id, credential }) => ({
            credential,
            session: registry.session(session.accountId, id),
          }))
        : registry.holdersOf(spec).map((tunnel) => ({
            credential: tunnel.credentialId,
            session: tunnel.session,
          }))
    if (holders.length === 0 || holders.some(({ credential }) => credential !== session.credentialId))
      throw rejection
    const outcomes = await Promise.all(
      holders.map((holder) =>
        holder.session === session ? 'alive' : (holder.session?.probe() ?? 'unknown'),
      ),
    )
    if (outcomes.includes('alive')) throw rejection
    if (outcomes.includes('unknown')) throw refusal('name_expiring', spec.url)
  }

  async function bindTunnel(
    session: LiveSession,
    request: BindRequest,
    open: TunnelSpec['open'],
  ): Promise<LiveTunnel> {
    const proto = parseProto(request.Proto)
    requirePublic(request)
    const previousUrl = resume.verifyBindToken(request.Extra?.Token ?? '', session.credentialId)
    const opts = withPreviousAddress(proto, request.Opts ?? {}, previousUrl)
    const described = {
      bindId: request.Id || randomUUID(),
      proto,
      name: requireMaxBytes('Name', request.Extra?.Name, MAX_DESCRIPTION_BYTES),
      description: requireMaxBytes('Description', request.Extra?.Description, MAX_DESCRIPTION_BYTES),
      metadata: requireMaxBytes('Metadata', request.Extra?.Metadata, MAX_METADATA_BYTES),
      forwardsTo: requireMaxBytes('ForwardsTo', request.ForwardsTo, MAX_TEXT_BYTES),
      forwardsProto: parseForwardsProto(request.ForwardsProto),
      poolingEnabled: request.Extra?.PoolingEnabled ?? false,
      options: toEndpointOptions(proto, opts),
      open,
    }

    const resolved =
      proto === 'tcp'
        ? await resolveAddress(session, opts, previousUrl)
        : await resolveName(session, proto, opts)
    const startedAt = clock.now()
    const spec = { ...described, ...resolved, identity: { id: newId('tn', startedAt), startedAt } }
    const heldBefore = previousUrl === resolved.url
    try {
      return await claimAndBind(session, spec, heldBefore).catch(async (error) => {
        await probeHolders(session, spec, error)
        return claimAndBind(session, spec, heldBefore)
      })
    } catch (error) {
      if (proto === 'tcp') registry.releasePort(resolved.port!)
      throw toProtocolError(error, resolved.url)
    }
  }

  return {
    async bind(session, request, open) {
      requireCapacity(session, request.Id)
      pendingBinds.set(session, (pendingBinds.get(session) ?? 0) + 1)
      try {
        return await bindTunnel(session, request, open)
      } finally {
        pendingBinds.set(session, pendingBinds.get(session)! - 1)
      }
    },

    async unbind(session, bindId) {
      registry.unbind(session, bindId)
      await claims?.settled()
    },

    setPooled(tunnel, pooled) {
      tunnel.poolingEnabled = pooled
      claims?.setPooled(tunnel.id, pooled)
    },

    bindLabels(session, request, open) {
      requireCapacity(session, undefined)
      const labels = Object.entries(request.Labels)
      if (labels.length === 0) throw refusal('options_invalid', 'a labelled tunnel needs at least one label.')
      for (const [key, value] of labels) {
        if (key === '' || value === '' || key.length > 255 || value.length > 255 || /\0/.test(key + value)) {
          throw refusal('options_invalid', 'labels have a name and a value of 1 to 255 characters.')
        }
        if (!session.acl.allowsLabel(key, value)) throw refusal('labels_forbidden', `${key}=${value}`)
      }
      return registry.bind(session, {
        bindId: randomUUID(),
        labels: { ...request.Labels },
        name: '',
        description: '',
        metadata: requireMaxBytes('Metadata', request.Metadata, MAX_METADATA_BYTES),
        forwardsTo: requireMaxBytes('ForwardsTo', request.ForwardsTo, MAX_TEXT_BYTES),
        forwardsProto: parseForwardsProto(request.ForwardsProto),
        poolingEnabled: false,
        options: { proxyProto: 0 },
        open,
      })
    },
  }
}

/** What an agent is told of a claim that was refused; other errors stay what they are. */
function toProtocolError(error: unknown, url: string): unknown {
  if (!(error instanceof ClaimRejected)) return error
  switch (error.because) {
    case 'held':
    case 'kept':
      return refusal('name_taken', url)
    case 'cooldown':
      return refusal('name_in_cooldown', url)
    case 'unavailable':
      return refusal('names_unavailable', url)
  }
}

/** Directly under the base domain, nobody needs a reservation: whoever binds such a name first has it while online. */
function isFirstComeName(host: string, domain: string): boolean {
  const label = host.endsWith(`.${domain}`) ? host.slice(0, -domain.length - 1) : ''
  return label !== '' && label !== '*' && !label.includes('.')
}

/** An agent that binds again without naming an address gets the one it had. */
function withPreviousAddress(proto: TunnelProto, opts: BindOpts, previousUrl: string | undefined): BindOpts {
  const requestsName = opts.Domain || opts.Hostname || opts.Subdomain || opts.Addr
  const url = opts.URL && !opts.URL.endsWith('://') ? opts.URL : ''
  return previousUrl?.startsWith(`${proto}://`) && !requestsName && !url
    ? { ...opts, URL: previousUrl }
    : opts
}

function tcpAddress(host: string, port: number): ResolvedAddress & { hostport: string } {
  return { port, url: tunnelUrl('tcp', host, port), hostport: `${host}:${port}` }
}

function requireAllowedName(session: LiveSession, host: string): void {
  if (!session.acl.allowsName(host)) throw refusal('name_forbidden', host)
}

function requireAllowedTcpAddress(session: LiveSession, host: string, port: number): void {
  if (!session.acl.allowsAddress(host, port)) throw refusal('address_forbidden', `${host}:${port}`)
}

function requireAllowedAddress(session: LiveSession, { host, port, hostport }: NamedSpec): void {
  if (host !== undefined) requireAllowedName(session, host)
  else if (!session.acl.allowsAnyAddress())
    requireAllowedTcpAddress(session, hostport!.slice(0, hostport!.lastIndexOf(':')), port!)
}

/** Only public tunnels exist here: one meant to be internal must not become public by mistake. */
function requirePublic(request: BindRequest): void {
  const unsupported = request.Extra?.Bindings?.find((binding) => binding !== '' && binding !== 'public')
  if (unsupported !== undefined)
    throw refusal('options_invalid', `the binding "${unsupported.slice(0, 40)}" is not supported.`)
}

function parseForwardsProto(text = ''): '' | 'http1' | 'http2' {
  if (text === '' || text === 'http1' || text === 'http2') return text
  throw refusal('options_invalid', `ForwardsProto must be empty, http1 or http2, not "${text.slice(0, 40)}".`)
}

function requireMaxBytes(field: string, text = '', bytes: number): string {
  if (Buffer.byteLength(text) > bytes)
    throw refusal('options_invalid', `${field} is longer than ${bytes} bytes.`)
  return text
}
