import type { Clock } from '../base/values/clock.ts'
import { isWithin } from '../base/values/domain.ts'
import { isHostName } from '../base/values/hostport.ts'
import type { MaybePromise } from '../base/values/maybe-promise.ts'
import { PLATFORM } from './acme/client/subject.ts'
import type { CertificateRecord, DomainRecord, Inventory } from './acme/inventory.ts'
import type { FileCertificate } from './x509/certificate-files.ts'
import type { LeafCache } from './x509/leaves.ts'
import type { ServedCertificate } from './x509/served-certificate.ts'

/**
 * Picks the certificate for a server name. The private root signs only for names that are reserved, bound by a tunnel, or
 * the platform's own; never for a name that a client invents.
 */
export class CertificateSelector {
  readonly #inventory: Inventory
  readonly #leaves: LeafCache
  readonly #clock: Clock
  readonly #isBound: (name: string) => boolean
  readonly #files: { readonly current: FileCertificate } | undefined

  constructor(options: {
    inventory: Inventory
    leaves: LeafCache
    clock: Clock
    /** Whether a tunnel is bound to this name. */
    isBound: (name: string) => boolean
    /** The operator's certificate for the platform's own names. */
    files?: { readonly current: FileCertificate } | undefined
  }) {
    this.#inventory = options.inventory
    this.#leaves = options.leaves
    this.#clock = options.clock
    this.#isBound = options.isBound
    this.#files = options.files
  }

  /** The certificate served to a client; undefined for an unknown name. */
  forClient(serverName: string): MaybePromise<ServedCertificate | undefined> {
    const name = normalizeName(serverName)
    const { base } = this.#inventory
    const domains = this.#inventory.domainsCovering(name)
    for (const domain of domains) {
      const certificate = this.#certificateOf(domain, name)
      if (certificate !== undefined) return certificate
    }
    if (this.#isPlatformName(name)) return this.#platformCertificate(name)
    const isServed = domains.length > 0 || (isHostName(name) && this.#isBound(name))
    if (isServed)
      return this.#privateLeaf(domains[0]?.domain === name ? name : (parentWildcard(name, domains) ?? name))
    return isWithin(name, base) ? this.#leaves.get([base, `*.${base}`]) : undefined
  }

  /**
   * The certificate served to an agent: that of the agent ingress it connects to, or the platform's, which is public once
   * there is a public one (decision 61). Undefined for any other name.
   */
  forAgent(serverName: string): MaybePromise<ServedCertificate | undefined> {
    const name = normalizeName(serverName)
    const ingress = this.#inventory.ingressByName(name)
    if (ingress !== undefined)
      return (
        this.#issuedCertificate(ingress.id, name) ??
        this.#leaves.get([ingress.domain, ...ingress.regionDomains])
      )
    return this.#isPlatformName(name) ? this.#platformCertificate(name) : undefined
  }

  /** Whether the operator's certificate does not cover a name below the platform's domain, and no other does. */
  isUncovered(serverName: string): boolean {
    const name = normalizeName(serverName)
    if (this.#files === undefined || !isWithin(name, this.#inventory.base)) return false
    const isCovered = this.#inventory
      .domainsCovering(name)
      .some((domain) => this.#certificateOf(domain, name) !== undefined)
    return !isCovered && !(this.#isPlatformName(name) && this.#publicPlatformCertificate(name) !== undefined)
  }

  #isPlatformName(name: string): boolean {
    return name === this.#inventory.base || parentOf(name) === this.#inventory.base
  }

  /** For the platform's domain or a name one label below it: the operator's files, an issued certificate or a private leaf. */
  #platformCertificate(name: string): MaybePromise<ServedCertificate | undefined> {
    const { base } = this.#inventory
    return this.#publicPlatformCertificate(name) ?? this.#leaves.get([base, `*.${base}`])
  }

  #publicPlatformCertificate(name: string): ServedCertificate | undefined {
    const { base } = this.#inventory
    const file = this.#files?.current
    if (file?.names.includes(name === base ? base : `*.${base}`)) return file
    return this.#issuedCertificate(PLATFORM)
  }

  /** The certificate of a reserved domain for a name it covers. */
  #certificateOf({ id, domain, certificateId }: DomainRecord, name: string): CertificateRecord | undefined {
    const uploaded = certificateId === undefined ? undefined : this.#inventory.certificates.get(certificateId)
    if (uploaded !== undefined && !uploaded.managed) return uploaded
    // A wildcard in a certificate covers one label, a reserved wildcard any number.
    const isCovered = domain === name || (domain.startsWith('*.') && parentOf(name) === domain.slice(2))
    if (!isCovered) return undefined
    return uploaded !== undefined && this.#isValid(uploaded) ? uploaded : this.#issuedCertificate(id)
  }

  /** The certificate a job has obtained, while it is valid. */
  #issuedCertificate(id: string, name?: string): CertificateRecord | undefined {
    const issued = this.#inventory.jobs.get(id)?.certificate
    if (!issued || (name !== undefined && !issued.names.includes(name))) return undefined
    const certificate = this.#inventory.certificates.get(issued.id)
    return certificate !== undefined && this.#isValid(certificate) ? certificate : undefined
  }

  #isValid({ notAfter }: CertificateRecord): boolean {
    return this.#clock.now() < notAfter
  }

  /** A leaf of the private root. While too many are being signed, the platform's leaf: a wrong one is better than none. */
  #privateLeaf(name: string): MaybePromise<ServedCertificate | undefined> {
    const { base } = this.#inventory
    return this.#leaves.get([name]) ?? this.#leaves.get([base, `*.${base}`])
  }
}

/** The reserved wildcard directly above the name, whose names share one certificate. */
function parentWildcard(name: string, reserved: readonly DomainRecord[]): string | undefined {
  const wildcard = `*.${parentOf(name)}`
  return reserved.some(({ domain }) => domain === wildcard) ? wildcard : undefined
}

function parentOf(name: string): string {
  const dot = name.indexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1)
}

function normalizeName(serverName: string): string {
  return serverName.toLowerCase().replace(/\.$/, '')
}
