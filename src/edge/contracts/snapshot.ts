import { X509Certificate } from 'node:crypto'
import { owningNames } from '../../base/values/domain.ts'
import {
  backendKinds,
  CertificateAuthority,
  EndpointConfiguration,
  ErrorPage,
  HttpsEdge,
  HttpsRoute,
  IpPolicy,
  IpPolicyRule,
  IpRestriction,
  KubernetesOperator,
  ReservedAddr,
  ReservedDomain,
  type ResourceKind,
  type resources,
  type StoredRecord,
  TcpEdge,
  TlsCertificate,
  TlsEdge,
  Vault,
  VaultSecret,
} from '../../resources/index.ts'

/** A stored resource as the store sends it to the edge: the record, and its secrets apart. */
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

/** Receives the configuration: first all of it, page by page, then the changes. */
export interface EdgeFollower {
  readonly ownersOf: ReadonlySet<string>
  load(): EdgeLoad
  change(changes: readonly EdgeChange[]): void
}

/** Receives all of the configuration. */
export interface EdgeLoad {
  put(changes: readonly EdgeChange[]): void
  putOwners(kind: string, owners: readonly { readonly id: string; readonly account: string }[]): void
  complete(): void
}

/** A stored record with its id and account. */
export type OwnedRecord<R> = StoredRecord<R> & { readonly id: string; readonly accountId: string }

const resourcesByTable = {
  httpsEdges: HttpsEdge,
  routes: HttpsRoute,
  tlsEdges: TlsEdge,
  tcpEdges: TcpEdge,
  rules: IpPolicyRule,
  restrictions: IpRestriction,
  authorities: CertificateAuthority,
  domains: ReservedDomain,
  addresses: ReservedAddr,
  configurations: EndpointConfiguration,
  certificates: TlsCertificate,
  errorPages: ErrorPage,
  vaults: Vault,
  secrets: VaultSecret,
  operators: KubernetesOperator,
} as const

type ResourcesByTable = typeof resourcesByTable

type Tables = { readonly [T in keyof ResourcesByTable]: Map<string, OwnedRecord<ResourcesByTable[T]>> }

/** One map for each table. */
const TableMaps = class {
  constructor() {
    for (const name of Object.keys(resourcesByTable)) Object.assign(this, { [name]: new Map() })
  }
} as new () => Tables

/** The kinds of backends, which are found by kind and id. */
export type BackendKind = Extract<ResourceKind, `backends_${string}`>

/** The resource kinds the edge follows. */
export const edgeKinds: readonly string[] = [
  ...Object.values(resourcesByTable).map(({ kind }) => kind),
  ...backendKinds,
  IpPolicy.kind,
]

/** All configuration the edge needs, by id. Only its follower changes it. */
export class Snapshot extends TableMaps {
  readonly #children = new Map<string, string[]>()
  readonly #byKind = new Map<string, Map<string, { id: string; accountId: string }>>([
    ...(Object.keys(resourcesByTable) as (keyof ResourcesByTable)[]).map(
      (name) => [resourcesByTable[name].kind, this[name]] as const,
    ),
    ...backendKinds.map((kind) => [kind, new Map()] as const),
  ])
  readonly #revisions = new Map<string, number>()
  readonly #policyAccounts = new Map<string, string>()

  /** A backend of this kind. */
  backend<K extends BackendKind>(kind: K, id: string): OwnedRecord<(typeof resources)[K]> | undefined {
    return this.#byKind.get(kind)?.get(id) as OwnedRecord<(typeof resources)[K]> | undefined
  }

  /** The account of an IP policy. Nothing else of it matters here, and there may be a million. */
  accountOfPolicy(id: string): string | undefined {
    return this.#policyAccounts.get(id)
  }

  /** The routes of an edge. */
  routesOf(edgeId: string): OwnedRecord<ResourcesByTable['routes']>[] {
    return this.#childrenOf(edgeId, this.routes)
  }

  /** The rules of an IP policy. */
  rulesOf(policyId: string): OwnedRecord<ResourcesByTable['rules']>[] {
    return this.#childrenOf(rulesKey(policyId), this.rules)
  }

  /** The IP restrictions of an account. */
  restrictionsOf(accountId: string): OwnedRecord<ResourcesByTable['restrictions']>[] {
    return this.#childrenOf(accountId, this.restrictions)
  }

  /** The error pages of an account. */
  errorPagesOf(accountId: string): OwnedRecord<ResourcesByTable['errorPages']>[] {
    return this.#childrenOf(`error pages ${accountId}`, this.errorPages)
  }

  /** The value of a secret in a vault of an account, both by name. */
  secretValue(accountId: string, vaultName: string, name: string): string | undefined {
    const [vault] = this.#childrenOf(`vault ${accountId} ${vaultName}`, this.vaults)
    return vault && this.#childrenOf(`secret ${vault.id} ${name}`, this.secrets)[0]?.value
  }

  /** The reserved domain of this name, which may be a wildcard. */
  domainNamed(name: string): OwnedRecord<ResourcesByTable['domains']> | undefined {
    return this.#childrenOf(`domain ${name}`, this.domains)[0]
  }

  /**
   * Whether an account owns a name with all names below it: names below what it has reserved are reserved for it (decision
   * 13).
   */
  ownsDomain(accountId: string, name: string): boolean {
    for (const reserved of owningNames(name))
      if (this.domainNamed(reserved)?.accountId === accountId) return true
    return false
  }

  /** The reserved address with this port. */
  addressAt(port: number): OwnedRecord<ResourcesByTable['addresses']> | undefined {
    return this.#childrenOf(`address ${port}`, this.addresses)[0]
  }

  /** The Kubernetes operator whose current certificate has this SHA-256 fingerprint. */
  operatorWith(fingerprint: string): OwnedRecord<ResourcesByTable['operators']> | undefined {
    return this.#childrenOf(`operator ${fingerprint}`, this.operators)[0]
  }

  /** Stores or deletes a row. Returns the ids affected: its own, and its old and new parent. */
  put(kind: string, id: string, row: EdgeRow | undefined): string[] {
    if (kind === IpPolicy.kind) return this.putPolicy(id, row?.account)
    const records = this.#byKind.get(kind)
    if (records === undefined) return []
    const previous = records.get(id)
    // After a gap the store sends everything again, and most rows are unchanged.
    if (row !== undefined && previous !== undefined && this.#revisions.get(id) === row.revision) return []
    const oldParent = previous === undefined ? '' : parentKey(kind, previous)
    if (row === undefined) {
      records.delete(id)
      this.#revisions.delete(id)
    } else {
      records.set(id, toRecord(row))
      this.#revisions.set(id, row.revision)
    }
    const current = records.get(id)
    const newParent = current === undefined ? '' : parentKey(kind, current)
    if (oldParent !== newParent) {
      this.#removeChild(oldParent, id)
      this.#addChild(newParent, id)
    }
    return [id, oldParent, newParent].filter((changed) => changed !== '')
  }

  clear(): void {
    for (const records of this.#byKind.values()) records.clear()
    this.#children.clear()
    this.#revisions.clear()
    this.#policyAccounts.clear()
  }

  /** The kind and id of every row, to find those deleted during a gap. */
  *ids(): Generator<[kind: string, id: string]> {
    for (const [kind, records] of this.#byKind) for (const id of records.keys()) yield [kind, id]
    for (const id of this.#policyAccounts.keys()) yield [IpPolicy.kind, id]
  }

  /** What changes in a policy other than its rules affects nothing that uses it. */
  putPolicy(id: string, account: string | undefined): string[] {
    const existed = this.#policyAccounts.has(id)
    if (account === undefined) this.#policyAccounts.delete(id)
    else this.#policyAccounts.set(id, account)
    return existed === (account !== undefined) ? [] : [id]
  }

  #addChild(parent: string, id: string): void {
    if (parent === '') return
    const children = this.#children.get(parent)
    if (children === undefined) this.#children.set(parent, [id])
    else children.push(id)
  }

  #removeChild(parent: string, id: string): void {
    const children = this.#children.get(parent)
    if (children === undefined) return
    children.splice(children.indexOf(id), 1)
    if (children.length === 0) this.#children.delete(parent)
  }

  #childrenOf<T>(parent: string, records: ReadonlyMap<string, T>): T[] {
    const children: T[] = []
    for (const id of this.#children.get(parent) ?? []) {
      const record = records.get(id)
      if (record !== undefined) children.push(record)
    }
    return children
  }
}

/** The port of a reserved address. */
export function portOf({ addr }: Pick<OwnedRecord<typeof ReservedAddr>, 'addr'>): number {
  return Number(addr.slice(addr.lastIndexOf(':') + 1))
}

/** Key for the rules of a policy, which change while the policy itself does not. */
export function rulesKey(policyId: string): string {
  return `rules ${policyId}`
}

/**
 * The secondary key of a record: the edge of a route, the policy of a rule, the account of a restriction, the name of a
 * vault, the certificate of an operator.
 */
function parentKey(kind: string, record: { accountId: string }): string {
  switch (kind) {
    case HttpsRoute.kind:
      return (record as OwnedRecord<typeof HttpsRoute>).edge_id
    case IpPolicyRule.kind:
      return rulesKey((record as OwnedRecord<typeof IpPolicyRule>).ip_policy_id)
    case IpRestriction.kind:
      return record.accountId
    case ErrorPage.kind:
      return `error pages ${record.accountId}`
    case ReservedDomain.kind:
      return `domain ${(record as OwnedRecord<typeof ReservedDomain>).domain}`
    case ReservedAddr.kind:
      return `address ${portOf(record as OwnedRecord<typeof ReservedAddr>)}`
    case Vault.kind:
      return `vault ${record.accountId} ${(record as OwnedRecord<typeof Vault>).name}`
    case VaultSecret.kind: {
      const { vault_id, name } = record as OwnedRecord<typeof VaultSecret>
      return `secret ${vault_id} ${name}`
    }
    case KubernetesOperator.kind: {
      const fingerprint = fingerprintOf(record as OwnedRecord<typeof KubernetesOperator>)
      return fingerprint && `operator ${fingerprint}`
    }
    default:
      return ''
  }
}

/** The fingerprint of an operator's certificate; empty without one, or for one that cannot be read, which no cluster has. */
function fingerprintOf({ binding }: Pick<OwnedRecord<typeof KubernetesOperator>, 'binding'>): string {
  const pem = binding?.cert?.cert
  try {
    return pem ? new X509Certificate(pem).fingerprint256 : ''
  } catch {
    return ''
  }
}

/** Rebuilds the record of a row: each secret goes back to the dotted path it was taken from. */
function toRecord({ id, account, data, secrets }: EdgeRow) {
  const record = (secrets === undefined ? { ...data } : structuredClone(data)) as Record<string, unknown>
  for (const [path, value] of Object.entries(secrets ?? {})) {
    const keys = path.split('.')
    const last = keys.pop()!
    const container = keys.reduce<unknown>((node, key) => (isRecord(node) ? node[key] : undefined), record)
    if (isRecord(container)) container[last] = value
  }
  // Rows are validated on write. A row that is broken anyway fails when it is compiled.
  return { ...record, id, accountId: account } as never
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}
