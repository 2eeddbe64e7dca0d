import type { Clock } from '../base/clock.ts'
import { isWithin } from '../base/domain.ts'
import { isHostName } from '../base/hostport.ts'
import type { Inventory, KnownCertificate, KnownDomain } from './acme/inventory.ts'
import { PLATFORM } from './acme/subject.ts'
import type { Leaves } from './x509/leaves.ts'
import type { MaybeLater, ServedCertificate } from './x509/served-certificate.ts'

/**
 * Finds the certificate for a name that a visitor asks for. Nothing is ever signed for a stranger's name: only for
 * what is reserved, bound by a tunnel, or the platform's own.
 */
export class Lookup {
  readonly #inventory: Inventory
  readonly #leaves: Leaves
  readonly #clock: Clock
  readonly #bound: (name: string) => boolean

  constructor(options: {
    inventory: Inventory
    leaves: Leaves
    clock: Clock
    /** Whether a tunnel answers for this name now. */
    bound: (name: string) => boolean
  }) {
    this.#inventory = options.inventory
    this.#leaves = options.leaves
    this.#clock = options.clock
    this.#bound = options.bound
  }

  /** The certificate a visitor gets; undefined for a name that is nobody's here. */
  forVisitor(serverName: string): MaybeLater<ServedCertificate | undefined> {
    const name = normal(serverName)
    const { base } = this.#inventory
    const reserved = this.#reserved(name)
    for (const domain of reserved) {
      const certificate = this.#certificateOf(domain, name)
      if (certificate !== undefined) return certificate
    }
    if (name === base || parentOf(name) === base)
      return this.#issued(PLATFORM) ?? this.#leaves.get([base, `*.${base}`])
    const known = reserved.length > 0 || (isHostName(name) && this.#bound(name))
    if (known) return this.#leaf(reserved[0]?.domain === name ? name : (wildcardOver(name, reserved) ?? name))
    return isWithin(name, base) ? this.#leaves.get([base, `*.${base}`]) : undefined
  }

  /**
   * The certificate an agent gets: that of the agent ingress it came through, or the platform's. `connect.<domain>` and
   * the domain itself always show the private root, for agents that were given it to trust; other names below the domain
   * show the public certificate once there is one. Undefined for a name that leads to none of these.
   */
  forAgent(serverName: string): MaybeLater<ServedCertificate | undefined> {
    const name = normal(serverName)
    const { base } = this.#inventory
    const ingress = this.#inventory.ingressNamed(name)
    if (ingress !== undefined)
      return this.#issued(ingress.id, name) ?? this.#leaves.get([ingress.domain, ...ingress.regionDomains])
    const own = () => this.#leaves.get([base, `*.${base}`])
    if (name === base || name === `connect.${base}`) return own()
    return parentOf(name) === base ? (this.#issued(PLATFORM) ?? own()) : undefined
  }

  /** The reserved domains that cover a name, the closest first. */
  #reserved(name: string): KnownDomain[] {
    const found: KnownDomain[] = []
    const own = this.#inventory.domainNamed(name)
    if (own !== undefined) found.push(own)
    for (let at = parentOf(name); at !== ''; at = parentOf(at)) {
      const wildcard = this.#inventory.domainNamed(`*.${at}`)
      if (wildcard !== undefined) found.push(wildcard)
    }
    return found
  }

  /** What a reserved domain has to serve for a name below or at it. */
  #certificateOf({ id, domain, certificateId }: KnownDomain, name: string): KnownCertificate | undefined {
    const uploaded = certificateId === undefined ? undefined : this.#inventory.certificates.get(certificateId)
    if (uploaded !== undefined && !uploaded.managed) return uploaded
    // A wildcard in a certificate stands for one label, a reserved one for any number.
    const covered = domain === name || (domain.startsWith('*.') && parentOf(name) === domain.slice(2))
    if (!covered) return undefined
    return uploaded !== undefined && this.#lives(uploaded) ? uploaded : this.#issued(id)
  }

  /** The certificate that a job has got, while it is valid. */
  #issued(id: string, name?: string): KnownCertificate | undefined {
    const issued = this.#inventory.jobs.get(id)?.certificate
    if (!issued || (name !== undefined && !issued.names.includes(name))) return undefined
    const certificate = this.#inventory.certificates.get(issued.id)
    return certificate !== undefined && this.#lives(certificate) ? certificate : undefined
  }

  #lives({ notAfter }: KnownCertificate): boolean {
    return this.#clock.now() < notAfter
  }

  /** One of the private root; while too many are being signed, one that is at hand and wrong beats none. */
  #leaf(name: string): MaybeLater<ServedCertificate | undefined> {
    const { base } = this.#inventory
    return this.#leaves.get([name]) ?? this.#leaves.get([base, `*.${base}`])
  }
}

/** A wildcard that is reserved right over the name gets one certificate for all names it covers. */
function wildcardOver(name: string, reserved: readonly KnownDomain[]): string | undefined {
  const over = `*.${parentOf(name)}`
  return reserved.some(({ domain }) => domain === over) ? over : undefined
}

function parentOf(name: string): string {
  const dot = name.indexOf('.')
  return dot < 0 ? '' : name.slice(dot + 1)
}

function normal(serverName: string): string {
  return serverName.toLowerCase().replace(/\.$/, '')
}
