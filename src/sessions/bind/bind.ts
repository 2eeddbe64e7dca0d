import { randomUUID } from 'node:crypto'
import { type Clock, systemClock } from '../../base/values/clock.ts'
import { newId } from '../../base/values/id.ts'
import {
  ClaimRejected,
  claimNameOf,
  type EndpointAddress,
  isPublicPort,
  type NameClaims,
  type Reservations,
} from '../../naming/index.ts'
import {
  type BindRequest,
  type LabelRequest,
  ProtocolError,
  protocolError,
  protocolErrors,
} from '../../protocol/index.ts'
import type { Registry } from '../registry/registry.ts'
import type { LiveSession } from '../session/live-session.ts'
import type { LiveTunnel, TunnelSpec } from '../session/live-tunnel.ts'
import type { ResumeTokens } from '../session/resume.ts'
import type { EndpointOptions, LabelAddress } from '../tunnel.ts'
import { AddressResolver, claimError, requireAllowedAddress } from './address-resolver.ts'
import { readBindRequest, readLabelRequest } from './bind-request.ts'
import { requireCookieDomain } from './endpoint-options.ts'
import type { PublicAddress } from './public-address.ts'

export interface BinderOptions {
  registry: Registry
  reservations: Reservations
  address: PublicAddress
  resume: ResumeTokens
  /** Claims names in the database before they are served; without it the registry alone decides. */
  claims?: Pick<NameClaims, 'claim' | 'release' | 'settled' | 'ports' | 'setPooled'>
  clock?: Clock
  maxTunnelsPerSession?: number
}

const MAX_TUNNELS = 500
/** Random addresses that are tried when other processes claim the same ones first. */
const MAX_RANDOM_ATTEMPTS = 20

/** A spec with a public address and an id, which the claim needs. */
type AddressSpec = TunnelSpec<EndpointAddress> & Required<Pick<TunnelSpec, 'identity'>>

/** Turns bind requests into tunnels, or throws a `ProtocolError`. */
export class Binder {
  readonly #options: BinderOptions
  readonly #resolver: AddressResolver
  readonly #clock: Clock
  readonly #maxTunnels: number
  /** Binds in progress. They count as tunnels: a session can send any number at once. */
  readonly #pendingBinds = new WeakMap<LiveSession, number>()

  constructor(options: BinderOptions) {
    this.#options = options
    this.#resolver = new AddressResolver(options)
    this.#clock = options.clock ?? systemClock
    this.#maxTunnels = options.maxTunnelsPerSession ?? MAX_TUNNELS
  }

  async bind(
    session: LiveSession,
    request: BindRequest,
    open: TunnelSpec['open'],
  ): Promise<LiveTunnel<EndpointAddress>> {
    this.#requireCapacity(session, request.Id)
    this.#addPending(session, 1)
    try {
      const tunnel = await this.#bindAddress(session, request, open)
      await this.#options.registry.published()
      return tunnel
    } finally {
      this.#addPending(session, -1)
    }
  }

  async bindLabels(
    session: LiveSession,
    request: LabelRequest,
    open: TunnelSpec['open'],
  ): Promise<LiveTunnel<LabelAddress>> {
    const { registry } = this.#options
    this.#requireCapacity(session, undefined)
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
    await registry.published()
    return tunnel
  }

  /** Removes a tunnel of the session; resolves once its name is released and no process serves it. */
  async unbind(session: LiveSession, bindId: string): Promise<void> {
    const { registry, claims } = this.#options
    registry.unbind(session, bindId)
    await Promise.all([claims?.settled(), registry.published()])
  }

  /** Rejects a traffic policy that the account may not have at this address. */
  async requirePolicy(
    { accountId }: LiveSession,
    options: EndpointOptions,
    address: EndpointAddress,
  ): Promise<void> {
    const { reservations } = this.#options
    await requireCookieDomain(options, address, (name) => reservations.ownsDomain(accountId, name))
  }

  /** Allows or forbids other tunnels of the account to share the tunnel's name. */
  setPooled(tunnel: LiveTunnel, pooled: boolean): void {
    tunnel.poolingEnabled = pooled
    this.#options.claims?.setPooled(tunnel.id, pooled)
  }

  #requireCapacity(session: LiveSession, bindId: string | undefined): void {
    const tunnels = this.#options.registry.tunnelsIn(session)
    if (tunnels.length + (this.#pendingBinds.get(session) ?? 0) < this.#maxTunnels) return
    if (tunnels.some((tunnel) => tunnel.bindId === bindId)) return
    throw protocolError('too_many_tunnels', String(this.#maxTunnels))
  }

  #addPending(session: LiveSession, count: number): void {
    this.#pendingBinds.set(session, (this.#pendingBinds.get(session) ?? 0) + count)
  }

  async #bindAddress(
    session: LiveSession,
    request: BindRequest,
    open: TunnelSpec['open'],
  ): Promise<LiveTunnel<EndpointAddress>> {
    const { registry, resume } = this.#options
    const { proto, opts, bindings, spec: requested } = readBindRequest(request)
    const previousUrl = resume.verifyBindToken(request.Extra?.Token ?? '', session.credentialId)
    const baseSpec = { ...requested, bindId: request.Id || randomUUID(), open }

    for (let attempt = 1; ; attempt++) {
      const resolved = await this.#resolver.resolve(session, proto, opts, bindings, previousUrl)
      const startedAt = this.#clock.now()
      const spec = { ...baseSpec, ...resolved, identity: { id: newId('tn', startedAt), startedAt } }
      try {
        await this.requirePolicy(session, requested.options, resolved.address)
        return resolved.isRandom
          ? await this.#bindRandom(session, spec)
          : await this.#bindRequested(session, spec, previousUrl)
      } catch (error) {
        if (isPublicPort(resolved.address)) registry.releasePort(resolved.address.port)
        const rejection = claimError(error, resolved.address.url)
        // Another process chose the same one, and its claim came first.
        if (resolved.isRandom && isTaken(rejection) && attempt < MAX_RANDOM_ATTEMPTS) continue
        throw rejection
      }
    }
  }

  async #bindRequested(session: LiveSession, spec: AddressSpec, previousUrl: string | undefined) {
    const heldBefore = previousUrl === spec.address.url
    try {
      return await this.#claimAndBind(session, spec, heldBefore)
    } catch (error) {
      await this.#probeHolders(session, spec, error)
      return this.#claimAndBind(session, spec, heldBefore)
    }
  }

  /** A random address is claimed for this tunnel alone, and may be pooled from then on: two that ask at once get two. */
  async #bindRandom(session: LiveSession, spec: AddressSpec) {
    const tunnel = await this.#claimAndBind(session, spec, false, false)
    if (spec.poolingEnabled) this.#options.claims?.setPooled(tunnel.id, true)
    return tunnel
  }

  /** Claims the name, then publishes the tunnel. */
  async #claimAndBind(
    session: LiveSession,
    spec: AddressSpec,
    heldBefore: boolean,
    pooled = spec.poolingEnabled,
  ): Promise<LiveTunnel<EndpointAddress>> {
    const { registry, claims } = this.#options
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
  async #probeHolders(session: LiveSession, spec: AddressSpec, error: unknown): Promise<void> {
    const rejection = claimError(error, spec.address.url)
    if (!isTaken(rejection)) throw rejection
    const holders = this.#holdersOf(session, spec, error)
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

  /** The sessions that hold a name: those of the rejected claim, or those of the registry when it rejected the tunnel. */
  #holdersOf(session: LiveSession, spec: AddressSpec, error: unknown) {
    const { registry } = this.#options
    return error instanceof ClaimRejected
      ? error.holders.map(({ session: id, credential }) => ({
          credential,
          session: registry.session(session.accountId, id),
        }))
      : registry.holdersOf(spec.address).map((tunnel) => ({
          credential: tunnel.credentialId,
          session: tunnel.session,
        }))
  }
}

function isTaken(error: unknown): boolean {
  return error instanceof ProtocolError && error.number === protocolErrors.name_taken.number
}

function requireAllowedLabels(session: LiveSession, labels: Readonly<Record<string, string>>): void {
  for (const [key, value] of Object.entries(labels))
    if (!session.acl.allowsLabel(key, value)) throw protocolError('labels_forbidden', `${key}=${value}`)
}
