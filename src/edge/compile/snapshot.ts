import {
  CertificateAuthority,
  FailoverBackend,
  HttpResponseBackend,
  HttpsEdge,
  HttpsRoute,
  IpPolicy,
  IpPolicyRule,
  IpRestriction,
  ReservedDomain,
  StaticBackend,
  type Stock,
  TcpEdge,
  TlsCertificate,
  TlsEdge,
  TunnelGroupBackend,
  WeightedBackend,
} from '../../resources/index.ts'

/** A stored resource as the edge is told of it: the record without its secrets, and those apart. */
export interface EdgeRow {
  readonly kind: string
  readonly id: string
  readonly account: string
  readonly revision: number
  readonly data: Readonly<Record<string, unknown>>
  readonly secrets: Readonly<Record<string, string>> | undefined
}

export interface EdgeChange {
  readonly kind: string
  readonly id: string
  /** Undefined when it was deleted. */
  readonly row: EdgeRow | undefined
}

/** Whoever is told of configuration: first everything, then what changes. */
export interface EdgeFollower {
  reset(rows: readonly EdgeRow[]): void
  change(changes: readonly EdgeChange[]): void
}

/** A record together with whose it is. */
export type Kept<R> = Stock<R> & { readonly id: string; readonly accountId: string }

const kinds = {
  httpsEdges: HttpsEdge,
  routes: HttpsRoute,
  tlsEdges: TlsEdge,
  tcpEdges: TcpEdge,
  httpResponses: HttpResponseBackend,
  tunnelGroups: TunnelGroupBackend,
  weighted: WeightedBackend,
  failovers: FailoverBackend,
  statics: StaticBackend,
  policies: IpPolicy,
  rules: IpPolicyRule,
  restrictions: IpRestriction,
  authorities: CertificateAuthority,
  domains: ReservedDomain,
  certificates: TlsCertificate,
} as const

type Kinds = typeof kinds

/** The kinds of rows the edge follows. */
export const edgeKinds: readonly string[] = Object.values(kinds).map(({ kind }) => kind)

/** All configuration the edge needs at one moment, by id. Only the follower that feeds it changes it. */
export class Snapshot {
  readonly httpsEdges = new Map<string, Kept<Kinds['httpsEdges']>>()
  readonly routes = new Map<string, Kept<Kinds['routes']>>()
  readonly tlsEdges = new Map<string, Kept<Kinds['tlsEdges']>>()
  readonly tcpEdges = new Map<string, Kept<Kinds['tcpEdges']>>()
  readonly httpResponses = new Map<string, Kept<Kinds['httpResponses']>>()
  readonly tunnelGroups = new Map<string, Kept<Kinds['tunnelGroups']>>()
  readonly weighted = new Map<string, Kept<Kinds['weighted']>>()
  readonly failovers = new Map<string, Kept<Kinds['failovers']>>()
  readonly statics = new Map<string, Kept<Kinds['statics']>>()
  readonly policies = new Map<string, Kept<Kinds['policies']>>()
  readonly rules = new Map<string, Kept<Kinds['rules']>>()
  readonly restrictions = new Map<string, Kept<Kinds['restrictions']>>()
  readonly authorities = new Map<string, Kept<Kinds['authorities']>>()
  readonly domains = new Map<string, Kept<Kinds['domains']>>()
  readonly certificates = new Map<string, Kept<Kinds['certificates']>>()
  readonly #children = new Map<string, string[]>()
  readonly #byKind = new Map<string, Map<string, { id: string; accountId: string }>>(
    (Object.keys(kinds) as (keyof Kinds)[]).map((name) => [kinds[name].kind, this[name]]),
  )
  readonly #revisions = new Map<string, number>()

  /** The routes of an edge. */
  routesOf(edgeId: string): Kept<Kinds['routes']>[] {
    return this.#childrenOf(edgeId, this.routes)
  }

  /** The rules of an IP policy. */
  rulesOf(policyId: string): Kept<Kinds['rules']>[] {
    return this.#childrenOf(rulesKey(policyId), this.rules)
  }

  /** The IP restrictions of an account. */
  restrictionsOf(accountId: string): Kept<Kinds['restrictions']>[] {
    return this.#childrenOf(accountId, this.restrictions)
  }

  /** The reserved domain of this name, which may be a wildcard. */
  domainNamed(name: string): Kept<Kinds['domains']> | undefined {
    return this.#childrenOf(`domain ${name}`, this.domains)[0]
  }

  /** Takes a row, or forgets it; answers with the ids for which something changed: its own, and what it is part of. */
  put(kind: string, id: string, row: EdgeRow | undefined): string[] {
    const kept = this.#byKind.get(kind)
    if (kept === undefined) return []
    const before = kept.get(id)
    // What is told again after a gap has mostly stayed the same.
    if (row !== undefined && before !== undefined && this.#revisions.get(id) === row.revision) return []
    const left = before === undefined ? '' : parentOf(kind, before)
    if (row === undefined) {
      kept.delete(id)
      this.#revisions.delete(id)
    } else {
      kept.set(id, recordOf(row))
      this.#revisions.set(id, row.revision)
    }
    const after = kept.get(id)
    const joined = after === undefined ? '' : parentOf(kind, after)
    if (left !== joined) {
      this.#leave(left, id)
      this.#join(joined, id)
    }
    return [id, left, joined].filter((changed) => changed !== '')
  }

  /** Everything known, to be compared with what is told after a gap. */
  *ids(): Generator<[kind: string, id: string]> {
    for (const [kind, kept] of this.#byKind) for (const id of kept.keys()) yield [kind, id]
  }

  #join(parent: string, id: string): void {
    if (parent === '') return
    const children = this.#children.get(parent)
    if (children === undefined) this.#children.set(parent, [id])
    else children.push(id)
  }

  #leave(parent: string, id: string): void {
    const children = this.#children.get(parent)
    if (children === undefined) return
    children.splice(children.indexOf(id), 1)
    if (children.length === 0) this.#children.delete(parent)
  }

  #childrenOf<T>(parent: string, kept: ReadonlyMap<string, T>): T[] {
    const found: T[] = []
    for (const id of this.#children.get(parent) ?? []) {
      const record = kept.get(id)
      if (record !== undefined) found.push(record)
    }
    return found
  }
}

/** What changes with the rules of a policy, while the policy itself stays. */
export function rulesKey(policyId: string): string {
  return `rules ${policyId}`
}

/** What a record is found by besides its id: the edge of a route, the policy of a rule, the account of a restriction. */
function parentOf(kind: string, record: { accountId: string }): string {
  switch (kind) {
    case HttpsRoute.kind:
      return (record as Kept<typeof HttpsRoute>).edge_id
    case IpPolicyRule.kind:
      return rulesKey((record as Kept<typeof IpPolicyRule>).ip_policy_id)
    case IpRestriction.kind:
      return record.accountId
    case ReservedDomain.kind:
      return `domain ${(record as Kept<typeof ReservedDomain>).domain}`
    default:
      return ''
  }
}

/** The record of a row with its secrets in their places, each named by the dotted path it was taken from. */
function recordOf({ id, account, data, secrets }: EdgeRow) {
  const record = (secrets === undefined ? { ...data } : structuredClone(data)) as Record<string, unknown>
  for (const [path, value] of Object.entries(secrets ?? {})) {
    const steps = path.split('.')
    const last = steps.pop()!
    const holder = steps.reduce<unknown>((place, step) => (isRecord(place) ? place[step] : undefined), record)
    if (isRecord(holder)) holder[last] = value
  }
  // Rows were checked when they were written; what is broken nevertheless is met when it is compiled.
  return { ...record, id, accountId: account } as never
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
