import { randomUUID } from 'node:crypto'
import type { Outbound } from '../base/outbound/outbound.ts'
import type { Logger } from '../base/process/log.ts'
import { type Clock, systemClock } from '../base/values/clock.ts'
import type { MaybePromise } from '../base/values/maybe-promise.ts'
import type { Store } from '../store/index.ts'
import { announceAuthority, announceRegion } from './acme/announce.ts'
import { AcmeClient, type AcmeSettings } from './acme/client/client.ts'
import type { NameResolver } from './acme/client/resolver.ts'
import { ChallengeRecords } from './acme/dns/challenge-records.ts'
import type { ConfiguredProvider } from './acme/dns/providers.ts'
import { INVENTORY_KINDS, Inventory } from './acme/inventory.ts'
import { defaultTimings, type IssueContext, type Timings } from './acme/issue.ts'
import { JobRunner } from './acme/jobs.ts'
import { Reconciler } from './acme/reconciler.ts'
import { RenewalPoller } from './acme/renewal-poller.ts'
import type { Random } from './acme/schedule.ts'
import { CertificateSelector } from './lookup.ts'
import type { Authority } from './x509/authority.ts'
import type { CertificateFiles } from './x509/certificate-files.ts'
import { KeyGenerator } from './x509/keys.ts'
import { LeafCache } from './x509/leaves.ts'
import type { ServedCertificate } from './x509/served-certificate.ts'

/** The dependencies and settings of the certificates part. */
export interface CertsOptions {
  readonly store: Store
  /** The private root, for names without a certificate of a public authority. */
  readonly authority: Authority
  /** The platform's own domain. */
  readonly base: string
  /** The operator's certificate for the platform's own names. */
  readonly files?: CertificateFiles | undefined
  readonly region: string
  /** The public addresses of the nodes of this region. */
  readonly addresses: readonly string[]
  /** Absent: automatic certificates are off, and the status of every managed resource says so. */
  readonly acme?: AcmeSettings | undefined
  /** The client for the ACME server; it trusts the root of a private one. */
  readonly outbound: Outbound
  readonly resolver: NameResolver
  /** The name servers that domains are delegated to. */
  readonly nameServers: readonly string[]
  /** Publishes challenge records of names that are not delegated to this server. */
  readonly dnsProvider?: ConfiguredProvider | undefined
  /** The port of the name servers that must have those records. */
  readonly nameServerPort?: number
  readonly log: Logger
  readonly clock?: Clock
  /** Whether a tunnel is bound to this name. */
  readonly isBound?: (name: string) => boolean
  /** False on nodes that only serve certificates; other nodes order them. */
  readonly jobs?: boolean
  readonly leaseMs?: number
  readonly timings?: Partial<Timings>
  readonly random?: Random
}

/** Certificates by server name, and the jobs that obtain them. */
export interface Certs {
  start(): Promise<void>
  stop(): Promise<void>
  /** The certificate served to a client for a name; undefined for an unknown name. */
  lookup(serverName: string): MaybePromise<ServedCertificate | undefined>
  /** Whether visitors of a name get a certificate of the private root, although the platform has a public one. */
  isUncovered(serverName: string): boolean
  /** The certificate served to an agent; undefined when the name is neither the platform's nor an ingress's. */
  agentCertificate(serverName: string): MaybePromise<ServedCertificate | undefined>
  /** The agent ingress of a name. Only its account may connect through it. */
  ingressOf(serverName: string): { readonly id: string; readonly account: string } | undefined
  /** The response to an HTTP-01 validation (RFC 8555 section 8.3). */
  httpChallenge(token: string, host: string): string | undefined
  /** The TXT records of pending DNS-01 validations. */
  dnsChallenges(): { name: string; value: string }[]
  regions(): { region: string; addresses: readonly string[] }[]
  /** When each certificate that can be served expires, in milliseconds since 1970. */
  expiries(): number[]
  /** The CAA identities of the authority in use. */
  caaIdentities(): readonly string[]
  /** Calls back with the store's revision after challenges, regions or the authority have changed. */
  watch(changed: (revision: number) => void): { stop(): void }
  /** Runs all due jobs; resolves when none is left. */
  runDue(): Promise<void>
}

const LEASE_MS = 30_000

/** Creates the part that serves certificates and, on nodes that run jobs, obtains and renews them. */
export function createCerts(options: CertsOptions): Certs {
  const { store, base, outbound, log, clock = systemClock, random = Math.random } = options
  const holder = randomUUID()
  const keys = new KeyGenerator()
  const { files } = options
  // What the operator's files cover is not ordered as well.
  const inventory = new Inventory(base, options.log, {
    managePlatform: files?.current.names.includes(base) !== true,
  })
  const leaves = new LeafCache(options.authority, clock)
  const lookup = new CertificateSelector({
    inventory,
    leaves,
    clock,
    isBound: options.isBound ?? (() => false),
    files,
  })
  const acme = options.acme && new AcmeClient({ settings: options.acme, outbound, store, keys, holder })
  const { resolver, nameServers, dnsProvider: provider, nameServerPort: port } = options
  const challengeRecords =
    provider && new ChallengeRecords({ provider, outbound, resolver, nameServers, log, port })
  const issueContext: IssueContext | undefined = acme && {
    ...{ store, acme, inventory, keys, clock, random, log, resolver, nameServers, challengeRecords },
    timings: { ...defaultTimings, ...options.timings },
  }
  const lease = { holder, leaseMs: options.leaseMs ?? LEASE_MS }
  const runsJobs = options.jobs ?? true
  const jobs = runsJobs && issueContext ? new JobRunner(issueContext, lease) : undefined
  const renewals = runsJobs && issueContext ? new RenewalPoller(issueContext, lease) : undefined
  const reconciler = runsJobs
    ? new Reconciler({
        ...{ store, inventory, clock, log, challengeRecords, holder },
        acmeEnabled: acme !== undefined,
      })
    : undefined
  let subscription: { stop(): void } | undefined

  return {
    async start() {
      const { region, addresses } = options
      await announceRegion({ store, clock, region, addresses })
      subscription = await store.follow(INVENTORY_KINDS, inventory)
      files?.start()
      reconciler?.start()
      jobs?.start()
      renewals?.start()
      if (jobs && acme)
        announceAuthority({ store, clock, acme }).catch((error) =>
          log.warn({ err: error }, 'ACME directory unavailable'),
        )
    },
    async stop() {
      files?.stop()
      await Promise.all([jobs?.stop(), renewals?.stop(), reconciler?.stop()])
      subscription?.stop()
    },
    lookup: (serverName) => lookup.forClient(serverName),
    // What an authority issues may be on its way.
    isUncovered: (serverName) => acme === undefined && lookup.isUncovered(serverName),
    agentCertificate: (serverName) => lookup.forAgent(serverName),
    ingressOf: (serverName) => inventory.ingressByName(serverName.toLowerCase()),
    httpChallenge(token, host) {
      const name = host.toLowerCase()
      const job = inventory.jobs.get(inventory.domainByName(name)?.id ?? '')
      const match = job?.challenges.find(
        (challenge) => challenge.type === 'http-01' && challenge.token === token && challenge.host === name,
      )
      return match?.value
    },
    dnsChallenges: () => inventory.challenges().filter((challenge) => challenge.type === 'dns-01'),
    regions: () => inventory.regions(),
    expiries: () => [
      ...(files === undefined ? [] : [files.current.notAfter]),
      ...inventory.certificates.values().map(({ notAfter }) => notAfter),
    ],
    caaIdentities: () => inventory.caaIdentities(),
    watch: (changed) => inventory.onRecords(() => changed(inventory.revision)),
    runDue: async () => jobs?.runDue(),
  }
}
