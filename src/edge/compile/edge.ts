import type { HttpsEdge, TcpEdge, TlsEdge } from '../../resources/index.ts'
import type { RawBackend } from '../backend.ts'
import { rawBackend } from '../backends/index.ts'
import type { TlsPolicy, TlsSettings } from '../listeners/tls-policy.ts'
import { Broken } from '../modules/context.ts'
import { type HttpEntry, newCounters, type RawEntry, type Route } from '../table.ts'
import { certificateFault } from './certificates.ts'
import { type BrokenPlace, type CompilerParts, Making } from './context.ts'
import { BrokenModule, buildModule, denyAll } from './module.ts'
import { compilePaths } from './path-router.ts'
import { compileRoute, deniedRoute } from './route.ts'
import type { Kept, Snapshot } from './snapshot.ts'

/** An edge as it serves. */
export interface CompiledEdge {
  /** Host names, which may be wildcards, or for TCP edges ports. */
  readonly names: readonly string[]
  readonly ports: readonly number[]
  readonly secure: HttpEntry | RawEntry
  /** What plain HTTP gets under its names. */
  readonly plain: HttpEntry | undefined
  /** The routes of an HTTPS edge that could be read. */
  readonly routes: readonly Route[]
  /** Routes and edges that count, for the metrics. */
  readonly places: readonly { readonly id: string; readonly counters: RawEntry['counters'] }[]
  readonly broken: readonly BrokenPlace[]
  /** Ids of everything that went into it: when one changes, it is compiled anew. */
  readonly uses: ReadonlySet<string>
}

export function compileHttpsEdge(edge: Kept<typeof HttpsEdge>, parts: CompilerParts): CompiledEdge {
  const { id, accountId, mutual_tls } = edge
  const making = new Making(parts, accountId)
  const names = hostsOf(edge.hostports)
  const routes = parts.snapshot.routesOf(id)
  const traffic = parts.core.traffic.of(accountId)
  const entry = { kind: 'http', id, accountId, traffic, redirectToHttps: false } as const
  const finish = (secure: HttpEntry, compiled: readonly Route[]): CompiledEdge => ({
    names,
    ports: [],
    secure,
    plain: { ...secure, policy: undefined, redirectToHttps: true },
    routes: compiled,
    places: compiled,
    broken: making.broken,
    uses: making.uses,
  })
  try {
    const policy = parts.policies.get({ http: true, ...tlsSettings(edge, making) })
    requireCertificates(names, parts.snapshot, making)
    const compiled = routes.map((record) => ({
      matchType: record.match_type,
      match: record.match,
      route: compileRoute(record, making, mutual_tls?.enabled === true),
    }))
    const routeFor = compilePaths(compiled, names[0] ?? id)
    return finish(
      { ...entry, policy, routeFor },
      compiled.map(({ route }) => route),
    )
  } catch (error) {
    const route = deniedRoute(id, making.report(id, error))
    return finish({ ...entry, policy: brokenPolicy(id), routeFor: () => route }, [route])
  }
}

/** An edge that cannot be read any more: nobody is let in where it stood, and nobody else takes its place (P36). */
export function denyEdge(before: CompiledEdge, error: unknown): CompiledEdge {
  const { secure, plain, names, ports } = before
  const { module, message } = new BrokenModule('configuration', error)
  const broken = [{ placeId: secure.id, module, reason: message }]
  const denied = { names, ports, routes: [], broken, uses: new Set<string>() }
  if (secure.kind === 'raw') {
    const entry: RawEntry = { ...secure, policy: undefined, admission: [denyAll(module)] }
    return { ...denied, secure: entry, plain, places: [entry] }
  }
  const route = deniedRoute(secure.id, module)
  const entry: HttpEntry = { ...secure, policy: brokenPolicy(secure.id), routeFor: () => route }
  return { ...denied, secure: entry, plain, places: [route] }
}

export function compileTlsEdge(edge: Kept<typeof TlsEdge>, parts: CompilerParts): CompiledEdge {
  const { mutual_tls, tls_termination } = edge
  const making = new Making(parts, edge.accountId)
  const names = hostsOf(edge.hostports)
  const terminated = tls_termination?.enabled === true && tls_termination.terminate_at === 'edge'
  const secure = rawEntry(edge, 'tls-edge', making, () => {
    if (!terminated) {
      if (mutual_tls?.enabled)
        throw new BrokenModule('mutual_tls', new Broken('TLS does not end at this edge'))
      return undefined
    }
    requireCertificates(names, parts.snapshot, making)
    return parts.policies.get({ http: false, ...tlsSettings(edge, making) })
  })
  const { broken, uses } = making
  return { names, ports: [], secure, plain: undefined, routes: [], places: [secure], broken, uses }
}

export function compileTcpEdge(edge: Kept<typeof TcpEdge>, parts: CompilerParts): CompiledEdge {
  const making = new Making(parts, edge.accountId)
  const ports = (edge.hostports ?? []).map((hostport) =>
    Number(hostport.slice(hostport.lastIndexOf(':') + 1)),
  )
  const secure = rawEntry(edge, 'tcp-edge', making, () => undefined)
  const { broken, uses } = making
  return { names: [], ports, secure, plain: undefined, routes: [], places: [secure], broken, uses }
}

function rawEntry(
  { id, accountId, ip_restriction, backend }: Kept<typeof TcpEdge>,
  via: 'tls-edge' | 'tcp-edge',
  making: Making,
  makePolicy: () => TlsPolicy | undefined,
): RawEntry {
  const world = making.world(id)
  const entry = {
    kind: 'raw',
    id,
    accountId,
    traffic: making.parts.core.traffic.of(accountId),
    via,
    restricted: ip_restriction?.enabled === true,
    counters: world.keep('counters', '', newCounters),
  } as const
  try {
    const admission = [making.accountAdmission]
    if (ip_restriction?.enabled) admission.push(buildModule('ip_restriction', ip_restriction, world))
    const chosen: RawBackend = backend?.enabled
      ? rawBackend(making.choice(backend.backend_id, via))
      : () => undefined
    return { ...entry, policy: makePolicy(), admission, backend: chosen }
  } catch (error) {
    const admission = [denyAll(making.report(id, error))]
    return { ...entry, policy: undefined, admission, backend: () => undefined }
  }
}

/** What the tls modules of an edge ask of the handshake. */
function tlsSettings(
  { id, tls_termination, mutual_tls }: Pick<Kept<typeof TlsEdge>, 'id' | 'tls_termination' | 'mutual_tls'>,
  making: Making,
): TlsSettings {
  const world = making.world(id)
  return {
    ...(tls_termination?.enabled ? buildModule('tls_termination', tls_termination, world) : {}),
    ...(mutual_tls?.enabled ? buildModule('mutual_tls', mutual_tls, world) : {}),
  }
}

/** A certificate that an owner chose and that is gone must not be replaced by another one unasked (P36). */
function requireCertificates(names: readonly string[], snapshot: Snapshot, making: Making): void {
  for (const name of names) {
    const fault = certificateFault(name, snapshot, (id) => making.use(id))
    if (fault !== undefined) throw new BrokenModule('tls_certificate', new Broken(fault))
  }
}

/** Nobody shares the TLS of an edge that lets nobody in. */
function brokenPolicy(id: string): TlsPolicy {
  return { key: `broken ${id}`, settings: { http: true } }
}

function hostsOf(hostports: readonly string[] | null): string[] {
  return (hostports ?? []).map((hostport) => hostport.slice(0, hostport.lastIndexOf(':')))
}
