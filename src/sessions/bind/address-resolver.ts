import {
  ClaimRejected,
  type EndpointAddress,
  endpointAddress,
  internalAddress,
  isPublicPort,
  kubernetesAddress,
  type NameClaims,
  type Reservations,
  requireAvailableAddress,
  requireAvailableName,
} from '../../naming/index.ts'
import { type BindOpts, protocolError } from '../../protocol/index.ts'
import type { Registry } from '../registry/registry.ts'
import type { LiveSession } from '../session/live-session.ts'
import type { TunnelSpec } from '../session/live-tunnel.ts'
import type { TunnelProto } from '../tunnel.ts'
import { type PublicAddress, publicPort } from './public-address.ts'
import { randomName } from './random-name.ts'
import { requestedAddress, requestedName, requestedNonPublic } from './requested-address.ts'

/** The address a bind resolved to, with the reservation it belongs to. */
export interface ResolvedAddress
  extends Required<Pick<TunnelSpec<EndpointAddress>, 'address' | 'reservationId'>> {
  /** The server chose it, so that another one does as well. */
  readonly isRandom: boolean
}

interface AddressResolverOptions {
  registry: Registry
  reservations: Reservations
  address: PublicAddress
  claims?: Pick<NameClaims, 'ports'>
}

/** Finds the public address for a bind: the requested one if the session may have it, or a free one. */
export class AddressResolver {
  readonly #options: AddressResolverOptions

  constructor(options: AddressResolverOptions) {
    this.#options = options
  }

  /** A TCP port is open afterwards: the caller closes it when the bind fails. */
  async resolve(
    session: LiveSession,
    proto: TunnelProto,
    requested: BindOpts,
    bindings: readonly string[],
    previousUrl: string | undefined,
  ): Promise<ResolvedAddress> {
    const nonPublic = requestedNonPublic(proto, bindings, requested, this.#options.address.domain)
    if (nonPublic !== undefined) {
      requireAllowedName(session, nonPublic.host)
      const createAddress = nonPublic.binding === 'internal' ? internalAddress : kubernetesAddress
      const address = createAddress(nonPublic.proto, nonPublic.host, nonPublic.port, session.accountId)
      return { address, reservationId: undefined, isRandom: false }
    }
    const opts = withPreviousAddress(proto, requested, previousUrl)
    return proto === 'tcp'
      ? this.#resolveTcpAddress(session, opts, previousUrl)
      : this.#resolveName(session, proto, opts)
  }

  async #resolveName(
    session: LiveSession,
    proto: 'http' | 'https' | 'tls',
    opts: BindOpts,
  ): Promise<ResolvedAddress> {
    const { address, reservations } = this.#options
    const requested = requestedName(proto, opts, address)
    const host = requested ?? `${randomName()}.${address.domain}`
    requireAllowedName(session, host)
    const reservation = await requireAvailableName(reservations, session.accountId, host)
    if (!reservation?.covers && !isFirstComeName(host, address.domain)) {
      if (host.startsWith('*.')) throw protocolError('wildcard_not_reserved', host)
      throw protocolError(host.includes('.') ? 'name_not_reserved' : 'name_incomplete', host, address.domain)
    }
    return {
      address: endpointAddress(proto, host, publicPort(proto, address)),
      reservationId: reservation?.covers ? reservation.id : undefined,
      isRandom: requested === undefined,
    }
  }

  async #resolveTcpAddress(
    session: LiveSession,
    opts: BindOpts,
    previousUrl: string | undefined,
  ): Promise<ResolvedAddress> {
    const { registry, address, reservations } = this.#options
    const requested = requestedAddress(opts)
    if (requested === undefined) {
      if (!session.acl.allowsAnyAddress()) throw protocolError('random_address_forbidden')
      const port = await this.#acquireFreePort(session.accountId)
      return {
        address: endpointAddress('tcp', address.tcpHost, port),
        reservationId: undefined,
        isRandom: true,
      }
    }
    const { host, port } = requested
    const resolved = endpointAddress('tcp', host, port)
    requireAllowedTcpAddress(session, resolved)
    const reservation = await requireAvailableAddress(reservations, session.accountId, host, port)
    // An agent may rebind an unreserved address that the server assigned to it before.
    if (reservation === undefined && previousUrl !== resolved.url)
      throw protocolError('address_not_reserved', resolved.hostport)
    await registry.acquirePort(port).catch(() => {
      throw protocolError('name_taken', resolved.url)
    })
    return { address: resolved, reservationId: reservation?.id, isRandom: false }
  }

  /** Acquires a port that is neither reserved nor in cooldown, preferring one that the account used before. */
  async #acquireFreePort(accountId: string): Promise<number> {
    const { registry, address, reservations, claims } = this.#options
    const { reusable, unavailable } = (await claims?.ports(accountId).catch((error) => {
      throw claimError(error, 'tcp://')
    })) ?? { reusable: [], unavailable: [] }
    const excluded = new Set(unavailable)
    const isAvailable = (port: number) =>
      requireAvailableAddress(reservations, accountId, address.tcpHost, port).then(
        (reservation) => reservation === undefined,
        () => false,
      )
    for (const candidate of reusable) {
      if (excluded.has(candidate) || registry.hasPort(candidate) || !(await isAvailable(candidate))) continue
      const port = await registry.acquirePort(candidate).catch(() => undefined)
      if (port !== undefined) return port
    }
    for (;;) {
      const port = await registry.acquirePort(undefined, excluded).catch(() => undefined)
      if (port === undefined) throw protocolError('no_address_free')
      if (await isAvailable(port)) return port
      excluded.add(port)
      registry.releasePort(port)
    }
  }
}

/** Converts a rejected claim to the error sent to the agent; returns other errors unchanged. */
export function claimError(error: unknown, url: string): unknown {
  if (!(error instanceof ClaimRejected)) return error
  switch (error.because) {
    case 'held':
    case 'in_grace':
      return protocolError('name_taken', url)
    case 'cooldown':
      return protocolError('name_in_cooldown', url)
    case 'unavailable':
      return protocolError('names_unavailable', url)
  }
}

/** Names directly under the base domain need no reservation: the first to bind one holds it while online. */
function isFirstComeName(host: string, domain: string): boolean {
  const label = host.endsWith(`.${domain}`) ? host.slice(0, -domain.length - 1) : ''
  return label !== '' && label !== '*' && !label.includes('.')
}

/** An agent that rebinds without an address gets its previous one. */
function withPreviousAddress(proto: TunnelProto, opts: BindOpts, previousUrl: string | undefined): BindOpts {
  const requestsName = opts.Domain || opts.Hostname || opts.Subdomain || opts.Addr
  const url = opts.URL && !opts.URL.endsWith('://') ? opts.URL : ''
  return previousUrl?.startsWith(`${proto}://`) && !requestsName && !url
    ? { ...opts, URL: previousUrl }
    : opts
}

function requireAllowedName(session: LiveSession, host: string): void {
  if (!session.acl.allowsName(host)) throw protocolError('name_forbidden', host)
}

function requireAllowedTcpAddress(session: LiveSession, { host, port, hostport }: EndpointAddress): void {
  if (!session.acl.allowsAddress(host, port)) throw protocolError('address_forbidden', hostport)
}

/** Throws when the rules of the session's credential do not allow the address. */
export function requireAllowedAddress(session: LiveSession, address: EndpointAddress): void {
  if (!isPublicPort(address)) requireAllowedName(session, address.host)
  else if (!session.acl.allowsAnyAddress()) requireAllowedTcpAddress(session, address)
}
