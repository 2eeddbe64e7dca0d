import type { Clock } from '../base/clock.ts'
import { isWithin } from '../base/domain.ts'
import { isHostName } from '../base/hostport.ts'
import type { MaybePromise } from '../base/maybe-promise.ts'
import type { CertificateRecord, DomainRecord, Inventory } from './acme/inventory.ts'
import { PLATFORM } from './acme/subject.ts'
import type { LeafCache } from './x509/leaves.ts'
import type { ServedCertificate } from './x509/served-certificate.ts'

/**
 * Finds the certificate for a name that a visitor asks for. Nothing is ever signed for a stranger's name: only for
 * what is reserved, bound by a tunnel, or the platform's own.
 */
export class CertificateLookup {
  readonly #inventory: Inventory
  readonly #leaves: LeafCache
  readonly #clock: Clock
  readonly #isBound: (name: string) => boolean

  constructor(options: {
    inventory: Inventory
    leaves: LeafCache
    clock: Clock
    /** Whether a tunnel answers for this name now. */
    isBound: (name: string) => boolean
  }) {
    this.#inventory = options.inventory
    this.#leaves = options.leaves
    this.#clock = options.clock
    this.#isBound = options.isBound
  }

  /** The certificate a visitor gets; undefined for a name that is nobody's here. */
  forClient(serverName: string): MaybePromise<ServedCertificate | undefined> {
    const name = normalizeName(serverName)
    const { base } = this.#inventory
    const domains = this.#coveringDomains(name)
    for (const domain of domains) {
      const certificate = this.#certificateOf(domain, name)
      if (certificate !== undefined) return certificate
    }
    if (name === base || parentOf(name) === base)
      return this.#issuedCertificate(PLATFORM) ?? this.#leaves.get([base, `*.${base}`])
    const isServed = domains.length > 0 || (isHostName(name) && this.#isBound(name))
    if (isServed)
      return this.#privateLeaf(domains[0]?.domain === name ? name : (parentWildcard(name, domains) ?? name))
    return isWithin(name, base) ? this.#leaves.get([base, `*.${base}`]) : undefined
  }

  /**
   * The certificate an agent gets: that of the agent ingress it came through, or the platform's. `connect.<domain>` and
   * the domain itself always show the private root, for agents that were given it to trust; other names below the domain
   * show the public certificate once there is one. Undefined for a name that leads to none of these.
   */
  forAgent(serverName: string): MaybePromise<ServedCertificate | undefined> {
    const name = normalizeName(serverName)
    const { base } = this.#inventory
    const ingress = this.#inventory.ingressByName(name)
    if (ingress !== undefined)
      return (
        this.#issuedCertificate(ingress.id, name) ??
        this.#leaves.get([ingress.domain, ...ingress.regionDomains])
      )
    const platformLeaf = () => this.#leaves.get([base, `*.${base}`])
    if (name === base || name === `connect.${base}`) return platformLeaf()
    return parentOf(name) === base ? (this.#issuedCertificate(PLATFORM) ?? platformLeaf()) : undefined
  }

  /** The reserved domains that cover a name, the closest first. */
  #coveringDomains(name: string): DomainRecord[] {
    const matches: DomainRecord[] = []
    const exact = this.#inventory.domainByName(name)
    if (exact !== undefined) matches.push(exact)
    for (let parent = parentOf(name); parent !== ''; parent = parentOf(parent)) {
      const wildcard = this.#inventory.domainByName(`*.${parent}`)
      if (wildcard !== undefined) matches.push(wildcard)
    }
    return matches
  }

  /** What a reserved domain has to serve for a name below or at it. */
  #certificateOf({ id, domain, certificateId }: DomainRecord, name: string): CertificateRecord | undefined {
    const uploaded = certificateId === undefined ? undefined : this.#inventory.certificates.get(certificateId)
    if (uploaded !== undefined && !uploaded.managed) return uploaded
    // A wildcard in a certificate stands for one label, a reserved one for any number.
    const isCovered = domain === name || (domain.startsWith('*.') && parentOf(name) === domain.slice(2))
    if (!isCovered) return undefined
    return uploaded !== undefined && this.#isValid(uploaded) ? uploaded : this.#issuedCertificate(id)
  }

  /** The certificate that a job has got, while it is valid. */
  #issuedCertificate(id: string, name?: string): CertificateRecord | undefined {
    const issued = this.#inventory.jobs.get(id)?.certificate
    if (!issued || (name !== undefined && !issued.names.includes(name))) return undefined
    const certificate = this.#inventory.certificates.get(issued.id)
    return certificate !== undefined && this.#isValid(certificate) ? certificate : undefined
  }

  #isValid({ notAfter }: CertificateRecord): boolean {
    return this.#clock.now() < notAfter
  }

  /** One of the private root; while too many are being signed, one that is at hand and wrong beats none. */
  #privateLeaf(name: string): MaybePromise<ServedCertificate | undefined> {
    const { base } = this.#inventory
    return this.#leaves.get([name]) ?? this.#leaves.get([base, `*.${base}`])
  }
}

/** A wildcard that is reserved right over the name gets one certificate for all names it covers. */
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
