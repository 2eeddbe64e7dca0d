import { EventEmitter, once } from 'node:events'
import { fanOut } from '../../base/limits/fan-out.ts'
import type { Logger } from '../../base/process/log.ts'
import { NameIndex } from '../../base/values/name-index.ts'
import { collectRows, type PagedFollower, type Row, type RowChange, type RowLoad } from '../../store/index.ts'
import type { ServedCertificate } from '../x509/served-certificate.ts'
import { PLATFORM, platformSubject, type Subject, type SubjectRow, subjectOf } from './client/subject.ts'
import { type Challenge, JOBS, type Job, readJob } from './job.ts'

/** The store kinds that nodes publish to each other. */
export const REGIONS_KIND = 'platform_regions'
export const AUTHORITY_KIND = 'platform_authority'

/** All store kinds that the inventory follows. */
export const INVENTORY_KINDS = [
  'reserved_domains',
  'agent_ingresses',
  'tls_certificates',
  JOBS,
  REGIONS_KIND,
  AUTHORITY_KIND,
] as const

type InventoryKind = (typeof INVENTORY_KINDS)[number]

/** The certificate-related fields of a reserved domain. */
export interface DomainRecord {
  readonly id: string
  readonly account: string
  readonly domain: string
  readonly certificateId: string | undefined
  readonly managed: boolean
  readonly statusMessage: string | undefined
  readonly revision: number
}

/** The certificate-related fields of an agent ingress. */
export interface IngressRecord {
  readonly id: string
  readonly account: string
  readonly domain: string
  readonly regionDomains: readonly string[]
  readonly managed: boolean
  readonly statusMessage: string | undefined
  readonly revision: number
}

/** A certificate with its key; `managed` when a job has issued it. */
export interface CertificateRecord extends ServedCertificate {
  readonly id: string
  readonly account: string
  readonly managed: boolean
  readonly notAfter: number
}

/** An in-memory copy of all names and certificates that follows the store: no connection waits for a database. */
export class Inventory implements PagedFollower<InventoryKind> {
  readonly base: string
  readonly domains = new Map<string, DomainRecord>()
  readonly ingresses = new Map<string, IngressRecord>()
  readonly certificates = new Map<string, CertificateRecord>()
  readonly subjects = new Map<string, Subject>()
  /** By the id of the subject. */
  readonly jobs = new Map<string, Job>()
  /** The published challenges of jobs under validation. */
  readonly #challengesBySubject = new Map<string, readonly Challenge[]>()
  readonly #domainsByName = new NameIndex<DomainRecord>()
  readonly #ingressesByName = new Map<string, IngressRecord>()
  readonly #regions = new Map<string, readonly string[]>()
  #caa: readonly string[] = []
  readonly #changeListeners = new Set<(ids: readonly string[] | undefined) => void>()
  readonly #recordsListeners = new Set<() => void>()
  readonly #events = new EventEmitter<{ revision: [] }>({ captureRejections: false })
  readonly #log: Logger
  readonly #managePlatform: boolean
  #revision = 0
  #recordsChanged = false

  /** `managePlatform` is false when the platform's own certificate is not ordered. */
  constructor(base: string, log: Logger, { managePlatform = true }: { managePlatform?: boolean } = {}) {
    this.base = base
    this.#managePlatform = managePlatform
    this.#log = log
    this.#events.setMaxListeners(0)
    this.#addPlatform()
  }

  get revision(): number {
    return this.#revision
  }

  /** The first load is applied as it comes. Later ones are collected: until they are complete, the earlier records serve. */
  load(): RowLoad<InventoryKind> {
    if (this.#revision > 0) return collectRows((rows, revision) => this.reset(rows, revision))
    this.#clear()
    return {
      put: (changes) => {
        for (const change of changes) this.#apply(change)
      },
      complete: (revision) => this.#complete(revision),
    }
  }

  reset(rows: readonly Row<InventoryKind>[], revision: number): void {
    this.#clear()
    // The compiler does not see that the kind is that of the row.
    for (const row of rows) {
      const { kind, id } = row
      this.#apply({ kind, id, row, revision } as RowChange<InventoryKind>)
    }
    this.#complete(revision)
  }

  #clear(): void {
    for (const map of [
      this.domains,
      this.ingresses,
      this.certificates,
      this.subjects,
      this.jobs,
      this.#challengesBySubject,
      this.#domainsByName,
      this.#ingressesByName,
      this.#regions,
    ])
      map.clear()
    this.#caa = []
    this.#addPlatform()
  }

  #complete(revision: number): void {
    this.#advanceTo(revision)
    this.#notify(undefined, true)
  }

  change(changes: readonly RowChange<InventoryKind>[]): void {
    const ids = changes.flatMap((change) => this.#apply(change))
    this.#advanceTo(changes.at(-1)?.revision ?? this.#revision)
    this.#notify(ids, this.#recordsChanged)
    this.#recordsChanged = false
  }

  /** Calls back with the ids of changed subjects; undefined means all. */
  onChange(listener: (ids: readonly string[] | undefined) => void): { stop(): void } {
    this.#changeListeners.add(listener)
    return { stop: () => this.#changeListeners.delete(listener) }
  }

  /** Calls back after the challenges, the regions or the authority have changed. */
  onRecords(listener: () => void): { stop(): void } {
    this.#recordsListeners.add(listener)
    return { stop: () => this.#recordsListeners.delete(listener) }
  }

  /** Resolves once the inventory has applied everything up to a revision. */
  async waitForRevision(revision: number, signal: AbortSignal): Promise<void> {
    while (this.#revision < revision) await once(this.#events, 'revision', { signal })
  }

  domainByName(name: string): DomainRecord | undefined {
    return this.#domainsByName.get(name)
  }

  /** The reserved domains that cover a name, most specific first. */
  domainsCovering(name: string): DomainRecord[] {
    return this.#domainsByName.matchAll(name)
  }

  ingressByName(name: string): IngressRecord | undefined {
    return this.#ingressesByName.get(name)
  }

  challenges(): Challenge[] {
    return [...this.#challengesBySubject.values()].flat()
  }

  regions(): { region: string; addresses: readonly string[] }[] {
    return [...this.#regions].map(([region, addresses]) => ({ region, addresses }))
  }

  caaIdentities(): readonly string[] {
    return this.#caa
  }

  #notify(ids: readonly string[] | undefined, recordsChanged: boolean): void {
    const onError = (err: unknown) => this.#log.error({ err }, 'certificate inventory listener failed')
    fanOut(this.#changeListeners, (listener) => listener(ids), onError)
    if (recordsChanged) fanOut(this.#recordsListeners, (listener) => listener(), onError)
  }

  #addPlatform(): void {
    const platform = this.#managePlatform ? platformSubject(this.base) : undefined
    if (platform !== undefined) this.subjects.set(platform.id, platform)
  }

  #advanceTo(revision: number): void {
    this.#revision = Math.max(this.#revision, revision)
    this.#events.emit('revision')
  }

  /** Applies a row. Returns the affected ids: its own, or that of its subject. */
  #apply({ kind, id, row }: RowChange<InventoryKind>): string[] {
    switch (kind) {
      case 'reserved_domains':
        this.#applyDomain(id, row)
        return [id]
      case 'agent_ingresses':
        this.#applyIngress(id, row)
        return [id]
      case 'tls_certificates':
        if (row === undefined) this.certificates.delete(id)
        else this.certificates.set(id, toCertificateRecord(row))
        return [id]
      case JOBS: {
        const subject = id.replace('certificate_job_', '')
        const job = row && readJob(row).job
        if (job === undefined) this.jobs.delete(subject)
        else this.jobs.set(subject, job)
        this.#applyChallenges(subject, job?.challenges ?? [])
        return [subject]
      }
      case REGIONS_KIND:
        this.#recordsChanged = true
        if (row === undefined) this.#regions.delete(id.replace('platform_region_', ''))
        else this.#regions.set(row.data.region as string, row.data.addresses as string[])
        return [PLATFORM]
      default:
        this.#recordsChanged = true
        this.#caa = (row?.data.caa as string[] | undefined) ?? []
        return [PLATFORM]
    }
  }

  #applyChallenges(subject: string, challenges: readonly Challenge[]): void {
    const previous = this.#challengesBySubject.get(subject) ?? []
    if (previous.length === 0 && challenges.length === 0) return
    if (challenges.length === 0) this.#challengesBySubject.delete(subject)
    else this.#challengesBySubject.set(subject, challenges)
    this.#recordsChanged = true
  }

  #applyDomain(id: string, row: Row<'reserved_domains'> | undefined): void {
    const previous = this.domains.get(id)
    if (previous !== undefined && this.#domainsByName.get(previous.domain)?.id === id)
      this.#domainsByName.delete(previous.domain)
    this.domains.delete(id)
    this.subjects.delete(id)
    if (row === undefined) return
    const { domain, certificate_id, certificate_management_policy: policy } = row.data
    const record = {
      id,
      account: row.account,
      domain,
      certificateId: certificate_id ?? undefined,
      managed: policy !== null,
      statusMessage: statusMessage(row),
      revision: row.revision,
    }
    this.domains.set(id, record)
    this.#domainsByName.set(record.domain, record)
    const subject = subjectOf(row, this.base)
    if (subject !== undefined) this.subjects.set(id, subject)
  }

  #applyIngress(id: string, row: Row<'agent_ingresses'> | undefined): void {
    const previous = this.ingresses.get(id)
    for (const name of previous === undefined ? [] : [previous.domain, ...previous.regionDomains])
      if (this.#ingressesByName.get(name)?.id === id) this.#ingressesByName.delete(name)
    this.ingresses.delete(id)
    this.subjects.delete(id)
    if (row === undefined) return
    const record = {
      id,
      account: row.account,
      domain: row.data.domain,
      regionDomains: row.data.region_domains,
      managed: row.data.certificate_management_policy !== null,
      statusMessage: statusMessage(row),
      revision: row.revision,
    }
    this.ingresses.set(id, record)
    for (const name of [record.domain, ...record.regionDomains]) this.#ingressesByName.set(name, record)
    const subject = subjectOf(row, this.base)
    if (subject !== undefined) this.subjects.set(id, subject)
  }
}

function statusMessage({ data }: SubjectRow): string | undefined {
  return data.certificate_management_status?.provisioning_job?.msg
}

function toCertificateRecord(row: Row<'tls_certificates'>): CertificateRecord {
  return {
    id: row.id,
    account: row.account,
    managed: row.data.managed === true,
    notAfter: Date.parse(row.data.not_after),
    certPem: row.data.certificate_pem,
    keyPem: row.secrets?.private_key_pem ?? '',
    version: row.id,
  }
}
