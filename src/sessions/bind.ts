import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '../base/clock.ts'
import { newId } from '../base/id.ts'
import {
  ClaimRejected,
  claimNameOf,
  type EndpointAddress,
  isPublicPort,
  type NameClaims,
  type Reservations,
} from '../naming/index.ts'
import {
  type BindRequest,
  type LabelRequest,
  ProtocolError,
  protocolError,
  protocolErrors,
} from '../protocol/index.ts'
import { AddressResolver, claimError, requireAllowedAddress } from './address-resolver.ts'
import { readBindRequest, readLabelRequest } from './bind-request.ts'
import { requireCookieDomain } from './endpoint-options.ts'
import type { LiveSession } from './live-session.ts'
import type { LiveTunnel, TunnelSpec } from './live-tunnel.ts'
import type { PublicAddress } from './public-address.ts'
import type { Registry } from './registry.ts'
import type { ResumeTokens } from './resume.ts'
import type { LabelAddress } from './tunnel.ts'

export interface BinderOptions {
  registry: Registry
  reservations: Reservations
  address: PublicAddress
  resume: ResumeTokens
  /** Claims names in the database before they are served; without it the registry alone decides. */
  claims?: Pick<NameClaims, 'claim' | 'release' | 'settled' | 'ports' | 'setPooled'>
  /** Resolves once other nodes know the tunnels bound here, so that a client gets an address that works at all of them. */
  published?: (() => Promise<void>) | undefined
  clock?: Clock
  maxTunnelsPerSession?: number
}

/** Turns bind requests into tunnels, or throws a `ProtocolError`. */
export interface Binder {
  bind(
    session: LiveSession,
    request: BindRequest,
    open: TunnelSpec['open'],
  ): Promise<LiveTunnel<EndpointAddress>>
  bindLabels(
    session: LiveSession,
    request: LabelRequest,
    open: TunnelSpec['open'],
  ): Promise<LiveTunnel<LabelAddress>>
  /** Removes a tunnel of the session; resolves once its name is released. */
  unbind(session: LiveSession, bindId: string): Promise<void>
  /** Allows or forbids other tunnels of the account to share the tunnel's name. */
  setPooled(tunnel: LiveTunnel, pooled: boolean): void
}

const MAX_TUNNELS = 500
/** Random addresses that are tried when other processes claim the same ones first. */
const MAX_RANDOM_ATTEMPTS = 20

/** A spec with a public address and an id, which the claim needs. */
type AddressSpec = TunnelSpec<EndpointAddress> & Required<Pick<TunnelSpec, 'identity'>>

export function createBinder(options: BinderOptions): Binder {
  const { registry, reservations, resume, claims } = options
  const resolver = new AddressResolver(options)
  const clock = options.clock ?? systemClock
  const maxTunnels = options.maxTunnelsPerSession ?? MAX_TUNNELS
  /** Binds in progress. They count as tunnels: a session can send any number at once. */
  const pendingBinds = new WeakMap<LiveSession, number>()

  function requireCapacity(session: LiveSession, bindId: string | undefined): void {
    const tunnels = registry.tunnelsIn(session)
    if (tunnels.length + (pendingBinds.get(session) ?? 0) < maxTunnels) return
    if (tunnels.some((tunnel) => tunnel.bindId === bindId)) return
    throw protocolError('too_many_tunnels', String(maxTunnels))
  }

  /** Claims the name, then publishes the tunnel. */
  async function claimAndBind(
    session: LiveSession,
    spec: AddressSpec,
    heldBefore: boolean,
    pooled = spec.poolingEnabled,
  ): Promise<LiveTunnel<EndpointAddress>> {
    const fence = await claims?.claim(
      {
        ...claimNameOf(spec.address),
        tunnel: spec.identity.id,
        account: session.accountId,
        credential: session.credentialId,
        client: session.clientId,
        session: session.id,
        bind: spec.bindId,
        proto: spec.address.proto,
        pooled,
      },
      heldBefore || registry.wasHeldBy(session, spec),
    )
    try {
      // The ACL may have changed during the lookup and the claim.
      requireAllowedAddress(session, spec.address)
      return registry.bind(session, { ...spec, fence })
    } catch (error) {
      claims?.release(spec.identity.id, false)
      throw error
    }
  }

  /**
   * Probes the sessions that hold a name when they belong to the same credential: a vanished machine must not block its
   * own user (decision 126). Returns when all of them are dead; otherwise throws why the name is not available.
   */
  async function probeHolders(session: LiveSession, spec: AddressSpec, error: unknown): Promise<void> {
    const rejection = claimError(error, spec.address.url)
    if (!isTaken(rejection)) throw rejection
    const holders =
      error instanceof ClaimRejected
        ? error.holders.map(({ session: id, credential }) => ({
            credential,
            session: registry.session(session.accountId, id),
          }))
        : registry.holdersOf(spec.address).map((tunnel) => ({
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
    if (outcomes.includes('unknown')) throw protocolError('name_expiring', spec.address.url)
  }

  async function bindTunnel(
    session: LiveSession,
    request: BindRequest,
    open: TunnelSpec['open'],
  ): Promise<LiveTunnel<EndpointAddress>> {
    const { proto, opts, bindings, spec: requested } = readBindRequest(request)
    const previousUrl = resume.verifyBindToken(request.Extra?.Token ?? '', session.credentialId)
    const baseSpec = { ...requested, bindId: request.Id || randomUUID(), open }

    for (let attempt = 1; ; attempt++) {
      const resolved = await resolver.resolve(session, proto, opts, bindings, previousUrl)
      const startedAt = clock.now()
      const spec = { ...baseSpec, ...resolved, identity: { id: newId('tn', startedAt), startedAt } }
      try {
        await requireCookieDomain(requested.options, resolved.address, (name) =>
          reservations.ownsDomain(session.accountId, name),
        )
        return resolved.isRandom
          ? await bindRandom(session, spec)
          : await bindRequested(session, spec, previousUrl)
      } catch (error) {
        if (isPublicPort(resolved.address)) registry.releasePort(resolved.address.port)
        const rejection = claimError(error, resolved.address.url)
        // Another process chose the same one, and its claim came first.
        if (resolved.isRandom && isTaken(rejection) && attempt < MAX_RANDOM_ATTEMPTS) continue
        throw rejection
      }
    }
  }

  async function bindRequested(session: LiveSession, spec: AddressSpec, previousUrl: string | undefined) {
    const heldBefore = previousUrl === spec.address.url
    try {
      return await claimAndBind(session, spec, heldBefore)
    } catch (error) {
      await probeHolders(session, spec, error)
      return claimAndBind(session, spec, heldBefore)
    }
  }

  /** A random address is claimed for this tunnel alone, and may be pooled from then on: two that ask at once get two. */
  async function bindRandom(session: LiveSession, spec: AddressSpec) {
    const tunnel = await claimAndBind(session, spec, false, false)
    if (spec.poolingEnabled) claims?.setPooled(tunnel.id, true)
    return tunnel
  }

  function addPending(session: LiveSession, count: number): void {
    pendingBinds.set(session, (pendingBinds.get(session) ?? 0) + count)
  }

  return {
    async bind(session, request, open) {
      requireCapacity(session, request.Id)
      addPending(session, 1)
      try {
        const tunnel = await bindTunnel(session, request, open)
        await options.published?.()
        return tunnel
      } finally {
        addPending(session, -1)
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

    async bindLabels(session, request, open) {
      requireCapacity(session, undefined)
      const requested = readLabelRequest(request)
      requireAllowedLabels(session, request.Labels)
      const tunnel = registry.bind(session, {
        ...requested,
        bindId: randomUUID(),
        name: '',
        description: '',
        poolingEnabled: false,
        poolingWeight: 1,
        options: { proxyProto: 0 },
        open,
      })
      await options.published?.()
      return tunnel
    },
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof ProtocolError && error.number === protocolErrors.name_taken.number
}

function requireAllowedLabels(session: LiveSession, labels: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(labels))
    if (!session.acl.allowsLabel(key, value)) throw protocolError('labels_forbidden', `${key}=${value}`)
}
