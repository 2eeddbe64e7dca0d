import type { HttpsEdge, TcpEdge, TlsEdge } from '../../resources/index.ts'
import { toTcpBackend } from '../backends/index.ts'
import type { TcpBackend } from '../contracts/backend.ts'
import type { ConnectionStep } from '../contracts/module.ts'
import type { OwnedRecord, Snapshot } from '../contracts/snapshot.ts'
import { createCounters, type HttpHost, type HttpRoute, type TcpHost } from '../contracts/table.ts'
import type { TlsPolicy, TlsPolicySettings, TlsSettings } from '../contracts/tls-policy.ts'
import { ModuleConfigError } from '../modules/context.ts'
import type { ReadTlsSettings } from '../policy/context.ts'
import { findCertificateFault } from './certificates.ts'
import { type BrokenScope, CompileContext, type CompilerDependencies } from './context.ts'
import { presentsCertificate, withLiveTlsPolicy } from './live-tls-policy.ts'
import { buildModule, denyAll, ModuleBuildError } from './module.ts'
import { createPathRouter } from './path-router.ts'
import { buildPolicyModule } from './policy.ts'
import { compileRoute, deniedRoute } from './route.ts'

type TcpModules = Pick<
  OwnedRecord<typeof TcpEdge>,
  'id' | 'accountId' | 'ip_restriction' | 'backend' | 'traffic_policy' | 'hostports'
>

/** An edge compiled for the routing table. */
export interface CompiledEdge {
  /** Host names, which may be wildcards. TCP edges have ports instead. */
  readonly names: readonly string[]
  readonly ports: readonly number[]
  readonly host: HttpHost | TcpHost
  /** The compiled routes of an HTTPS edge. */
  readonly routes: readonly HttpRoute[]
  /** Routes or edges with counters, for the metrics. */
  readonly scopes: readonly { readonly id: string; readonly counters: TcpHost['counters'] }[]
  readonly brokenScopes: readonly BrokenScope[]
  /** Ids of everything the edge was compiled from. It is recompiled when one of them changes. */
  readonly dependencyIds: ReadonlySet<string>
}

export function compileHttpsEdge(
  edge: OwnedRecord<typeof HttpsEdge>,
  dependencies: CompilerDependencies,
): CompiledEdge {
  const { id, accountId, mutual_tls } = edge
  const context = new CompileContext(dependencies, accountId)
  const names = parseHostnames(edge.hostports)
  const routeRecords = dependencies.snapshot.routesOf(id)
  const traffic = dependencies.runtime.traffic.forAccount(accountId)
  const base = { kind: 'http', id, accountId, traffic, redirectToHttps: false } as const
  const toCompiledEdge = (host: HttpHost, routes: readonly HttpRoute[]): CompiledEdge => ({
    names,
    ports: [],
    host,
    routes,
    scopes: routes,
    brokenScopes: context.brokenScopes,
    dependencyIds: context.dependencyIds,
  })
  try {
    const tlsPolicy = dependencies.tlsPolicies.get({ http: true, ...buildTlsSettings(edge, context) })
    requireCertificates(names, dependencies.snapshot, context)
    const rules = routeRecords.map((record) => ({
      matchType: record.match_type,
      match: record.match,
      route: compileRoute(record, context, {
        mutualTls: mutual_tls?.enabled === true,
        hostports: edge.hostports,
      }),
    }))
    const routeFor = createPathRouter(rules, names[0] ?? id)
    return toCompiledEdge(
      { ...base, tlsPolicy, routeFor },
      rules.map(({ route }) => route),
    )
  } catch (error) {
    const route = deniedRoute(id, context.reportBroken(id, error))
    return toCompiledEdge({ ...base, tlsPolicy: brokenTlsPolicy(id), routeFor: () => route }, [route])
  }
}

/**
 * Replaces an edge that can no longer be compiled. It keeps its names and denies all traffic, so that nothing else
 * answers in its place (P36).
 */
export function denyEdge(previous: CompiledEdge, error: unknown): CompiledEdge {
  const { host, names, ports } = previous
  const { module, message } = new ModuleBuildError('configuration', error)
  const brokenScopes: BrokenScope[] = [{ scopeId: host.id, module, reason: message }]
  const denied = { names, ports, routes: [], brokenScopes, dependencyIds: new Set<string>() }
  if (host.kind === 'tcp') {
    const deniedHost: TcpHost = { ...host, tlsPolicy: undefined, connectionSteps: [denyAll(module)] }
    return { ...denied, host: deniedHost, scopes: [deniedHost] }
  }
  const route = deniedRoute(host.id, module)
  const deniedHost: HttpHost = { ...host, tlsPolicy: brokenTlsPolicy(host.id), routeFor: () => route }
  return { ...denied, host: deniedHost, scopes: [route] }
}

export function compileTlsEdge(
  edge: OwnedRecord<typeof TlsEdge>,
  dependencies: CompilerDependencies,
): CompiledEdge {
  const { mutual_tls, tls_termination } = edge
  const context = new CompileContext(dependencies, edge.accountId)
  const names = parseHostnames(edge.hostports)
  const byModule = tls_termination?.enabled === true && tls_termination.terminate_at === 'edge'
  const host = compileTcpHost(edge, 'tls-edge', context, (byPolicy) => {
    if (!byModule && byPolicy === undefined) {
      if (mutual_tls?.enabled)
        throw new ModuleBuildError('mutual_tls', new ModuleConfigError('TLS does not end at this edge'))
      return undefined
    }
    if (byPolicy === undefined || !presentsCertificate(byPolicy))
      requireCertificates(names, dependencies.snapshot, context)
    return { http: false, ...buildTlsSettings(edge, context) }
  })
  return toTcpEdge(host, { names, ports: [] }, context)
}

export function compileTcpEdge(
  edge: OwnedRecord<typeof TcpEdge>,
  dependencies: CompilerDependencies,
): CompiledEdge {
  const context = new CompileContext(dependencies, edge.accountId)
  const ports = (edge.hostports ?? []).map((hostport) =>
    Number(hostport.slice(hostport.lastIndexOf(':') + 1)),
  )
  const host = compileTcpHost(edge, 'tcp-edge', context, () => undefined)
  return toTcpEdge(host, { names: [], ports }, context)
}

function toTcpEdge(
  host: TcpHost,
  addresses: Pick<CompiledEdge, 'names' | 'ports'>,
  { brokenScopes, dependencyIds }: CompileContext,
): CompiledEdge {
  return {
    ...addresses,
    host,
    routes: [],
    scopes: [host],
    brokenScopes,
    dependencyIds,
  }
}

/** Compiles what a TCP connection passes. A host that cannot be built denies and is reported. */
export function compileTcpHost(
  { id, accountId, ip_restriction, backend, traffic_policy, hostports }: TcpModules,
  via: 'tls-edge' | 'tcp-edge',
  context: CompileContext,
  buildTls: (byPolicy: ReadTlsSettings | undefined) => TlsPolicySettings | undefined,
): TcpHost {
  const moduleContext = context.moduleContext(id)
  const host = {
    kind: 'tcp',
    id,
    accountId,
    traffic: context.dependencies.runtime.traffic.forAccount(accountId),
    proto: via === 'tls-edge' ? 'tls' : 'tcp',
    via,
    restricted: ip_restriction?.enabled === true,
    counters: moduleContext.getOrCreate('counters', '', createCounters),
  } as const
  try {
    const connectionSteps = [context.accountRestriction]
    if (ip_restriction?.enabled)
      connectionSteps.push(buildModule('ip_restriction', ip_restriction, moduleContext))
    const policy = buildPolicyModule(
      {
        settings: traffic_policy,
        attachment: { protocol: host.proto, kind: 'edge' },
        edgeId: id,
        hostports,
      },
      id,
      context,
    )
    const edgeBackend: TcpBackend = backend?.enabled
      ? toTcpBackend(context.balancer(backend.backend_id, via))
      : () => undefined
    const { tlsPolicies } = context.dependencies
    const tls = buildTls(policy?.tls)
    // Where TLS is terminated, the policy runs after the handshake.
    const securedConnectionSteps: ConnectionStep[] = []
    if (policy?.connection !== undefined)
      (tls === undefined ? connectionSteps : securedConnectionSteps).push(policy.connection)
    const compiled = {
      ...host,
      tlsPolicy: tls && tlsPolicies.get(tls),
      connectionSteps,
      securedConnectionSteps,
      backend: edgeBackend,
    }
    return tls === undefined || policy?.tls === undefined
      ? compiled
      : withLiveTlsPolicy(compiled, tls, policy.tls, tlsPolicies)
  } catch (error) {
    const connectionSteps = [denyAll(context.reportBroken(id, error))]
    return { ...host, tlsPolicy: undefined, connectionSteps, backend: () => undefined }
  }
}

/** TLS settings from the `tls` phase modules of an edge. */
export function buildTlsSettings(
  {
    id,
    tls_termination,
    mutual_tls,
  }: Pick<OwnedRecord<typeof TlsEdge>, 'id' | 'tls_termination' | 'mutual_tls'>,
  context: CompileContext,
): TlsSettings {
  const moduleContext = context.moduleContext(id)
  return {
    ...(tls_termination?.enabled ? buildModule('tls_termination', tls_termination, moduleContext) : {}),
    ...(mutual_tls?.enabled ? buildModule('mutual_tls', mutual_tls, moduleContext) : {}),
  }
}

/** A configured certificate that is missing must not be replaced by another one silently (P36). */
function requireCertificates(names: readonly string[], snapshot: Snapshot, context: CompileContext): void {
  for (const name of names) {
    const fault = findCertificateFault(name, snapshot, (id) => context.dependOn(id))
    if (fault !== undefined) throw new ModuleBuildError('tls_certificate', new ModuleConfigError(fault))
  }
}

/** A policy no other host shares, so that connections to a broken edge are never reused. */
function brokenTlsPolicy(id: string): TlsPolicy {
  return { key: `broken ${id}`, settings: { http: true } }
}

function parseHostnames(hostports: readonly string[] | null): string[] {
  return (hostports ?? []).map((hostport) => hostport.slice(0, hostport.lastIndexOf(':')))
}
