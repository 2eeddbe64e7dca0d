import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from '../../base/process/log.ts'
import { type Clock, formatTimestamp } from '../../base/values/clock.ts'
import { newId } from '../../base/values/id.ts'
import type { Secret } from '../../base/values/secret.ts'
import { TlsCertificate } from '../../resources/index.ts'
import {
  draftOf,
  type Lease,
  LeaseLost,
  type Store,
  StoreUnavailable,
  type Transaction,
} from '../../store/index.ts'
import type { KeyGenerator } from '../x509/keys.ts'
import { readTlsCertificate } from '../x509/x509.ts'
import type { AcmeClient } from './client/client.ts'
import { checkDns, type DnsFinding, type DnsProblem } from './client/dns-preflight.ts'
import { renewalId } from './client/renewal-info.ts'
import { type NameResolver, ResolverError } from './client/resolver.ts'
import type { Authorization, Order } from './client/rfc8555.ts'
import { PLATFORM, type Subject } from './client/subject.ts'
import { AcmeRejected, AcmeUnavailable, problemType } from './client/transport.ts'
import type { ChallengeRecord, ChallengeRecords } from './dns/challenge-records.ts'
import { DnsProviderError } from './dns/provider.ts'
import type { Inventory } from './inventory.ts'
import { type Challenge, type IssuedCertificate, type Job, jobDueAt, newJob, sameNames } from './job.ts'
import { JobStore, SupersededError } from './job-store.ts'
import {
  earliestRenewalAt,
  nextValidationAt,
  type Random,
  type RetryPace,
  renewalAt,
  retryAt,
  suggestedAt,
} from './schedule.ts'

/** Timeouts and delays of an order's steps, in milliseconds. */
export interface Timings {
  /** The delay until every node serves a new challenge. */
  readonly propagationDelay: number
  /** The timeout until a published record is visible through the resolver. */
  readonly dnsVisibility: number
  /** The timeout until all name servers of a DNS provider have a new record. */
  readonly providerPropagation: number
  /** The timeout for the authority's decision. */
  readonly validation: number
}

export const defaultTimings: Timings = {
  propagationDelay: 1000,
  dnsVisibility: 60_000,
  providerPropagation: 300_000,
  validation: 180_000,
}

/** The dependencies of an issue attempt. */
export interface IssueContext {
  readonly store: Store
  readonly acme: AcmeClient
  readonly inventory: Inventory
  readonly resolver: NameResolver
  readonly nameServers: readonly string[]
  /** Absent: only our own name server publishes challenge records. */
  readonly challengeRecords?: ChallengeRecords | undefined
  readonly keys: KeyGenerator
  readonly clock: Clock
  readonly random: Random
  readonly timings: Timings
  readonly log: Logger
}

/** A failed step: the problem to report, and how to continue. */
class IssueFailure extends Error {
  override name = 'IssueFailure'
  readonly problem: DnsProblem
  /** Whether the authority has validated and failed, which counts against the name. */
  readonly failedValidation: boolean
  readonly pace: RetryPace
  /** Whether the order can still succeed. */
  readonly keepOrder: boolean
  readonly retryAfterMs: number

  constructor(
    { unanswered = false, ...problem }: DnsFinding,
    options: { failedValidation?: boolean; keepOrder?: boolean; retryAfterMs?: number | undefined } = {},
  ) {
    super(problem.msg)
    this.problem = problem
    this.failedValidation = options.failedValidation ?? false
    this.pace =
      this.failedValidation || (problem.code !== 'DNS_ERROR' && !unanswered)
        ? 'ordered'
        : unanswered
          ? 'unanswered'
          : 'preflight'
    this.keepOrder = options.keepOrder ?? false
    this.retryAfterMs = options.retryAfterMs ?? 0
  }
}

const MIN_POLL_MS = 150
const MAX_POLL_MS = 3000
const CLEANUP_RETRY_MS = 60 * 60 * 1000

/** ACME problem types that only the owner of the name can fix. */
const OWNER_PROBLEMS = ['dns', 'caa', 'rejectedIdentifier', 'unsupportedIdentifier']

/** One attempt to obtain a subject's certificate, under a lease. It resumes the last attempt, on any node (see `Job`). */
export class IssueAttempt {
  readonly #context: IssueContext
  readonly #subject: Subject
  readonly #lease: Lease
  readonly #signal: AbortSignal
  readonly #jobStore: JobStore
  #job: Job
  #key: Secret | undefined
  #revision = 0
  /** When the authority has to have decided, by the monotonic clock. */
  #deadline = 0

  constructor(context: IssueContext, subject: Subject, lease: Lease, signal: AbortSignal) {
    this.#context = context
    this.#subject = subject
    this.#lease = lease
    this.#signal = signal
    this.#job = newJob(subject)
    const { store, clock, inventory } = context
    this.#jobStore = new JobStore({ store, clock, base: inventory.base, subject, lease })
  }

  /** Works until the certificate is issued or the attempt fails. Returns the last revision it wrote, 0 for none. */
  async run(): Promise<number> {
    const { log } = this.#context
    try {
      const dueWork = await this.#findDueWork()
      if (dueWork === undefined) return 0
      // What an interrupted attempt has left behind.
      await this.#removeProviderRecords()
      try {
        if (dueWork === 'issue') await this.#work()
      } catch (error) {
        // The records belong to the next holder of the lease.
        if (error instanceof LeaseLost || this.#signal.aborted) throw error
        if (!(error instanceof SupersededError)) await this.#failUnlessSuperseded(this.#toFailure(error))
      }
      await this.#removeProviderRecords()
    } catch (error) {
      if (!this.#isObsolete(error)) throw error
    }
    if (this.#signal.aborted) log.info({ domain: this.#subject.domain }, 'certificate job interrupted')
    return this.#revision
  }

  /** Reads the state again under the lease: another node may have done the work in the meantime. */
  async #findDueWork(): Promise<'issue' | 'cleanup' | undefined> {
    const { acme, clock } = this.#context
    const { job, key, subjectRevision, exists } = await this.#jobStore.read()
    this.#job = job
    this.#key = key
    const dueContext = { directory: acme.directoryUrl, subjectRevision, now: clock.now() }
    const isDue = (candidate: Job | undefined) => {
      const dueTime = jobDueAt(this.#subject, candidate, dueContext)
      return dueTime !== undefined && dueTime <= clock.now()
    }
    if (!isDue(exists ? job : undefined)) return undefined
    return !exists || isDue({ ...job, providerRecords: [] }) ? 'issue' : 'cleanup'
  }

  /** Whether to stop silently: the lease is lost, the subject has changed, or the server is stopping. */
  #isObsolete(error: unknown): boolean {
    return error instanceof LeaseLost || error instanceof SupersededError || this.#signal.aborted
  }

  async #work(): Promise<void> {
    const { acme, clock, keys } = this.#context
    this.#dropStaleOrder()
    if (this.#job.order === null) {
      await this.#requireValidationBudget()
      const problem = await this.#checkDns()
      if (problem !== undefined) throw new IssueFailure(problem)
      await this.#requireProviderZones()
    }
    const now = clock.now()
    const key = this.#key ?? (await keys.generate(this.#subject.keyType))
    this.#key = key
    await this.#save({ startedAt: this.#job.startedAt ?? now, dueAt: now, error: null })

    let order = (await this.#openOrder()) ?? (await this.#newOrder())
    this.#startDeadline()
    let finalized = false
    for (let wait = MIN_POLL_MS; ; wait = Math.min(wait * 1.5, MAX_POLL_MS)) {
      if (order.status === 'valid') return this.#install(order, key)
      if (order.status === 'invalid') throw await this.#orderFailure(order)
      if (order.status === 'pending') await this.#validate(order)
      else if (order.status === 'ready' && !finalized) {
        await this.#requireLease()
        await acme.finalize(order, this.#subject.names, key)
        finalized = true
      } else {
        this.#requireTime()
        await delay(wait, undefined, { signal: this.#signal })
      }
      order = await acme.order(order.url)
    }
  }

  /** Drops an order that no longer matches the subject; it expires at the authority. */
  #dropStaleOrder(): void {
    const { order } = this.#job
    if (order === null) return
    const { keyType, names } = this.#subject
    const current =
      order.directory === this.#context.acme.directoryUrl &&
      order.keyType === keyType &&
      sameNames(order.names, names) &&
      this.#key !== undefined
    if (current) return
    this.#job = { ...this.#job, order: null, challenges: [] }
    this.#key = undefined
  }

  async #requireValidationBudget(): Promise<void> {
    const now = this.#context.clock.now()
    const allowedAt = nextValidationAt(await this.#jobStore.failures(), now)
    if (allowedAt <= now) return
    const msg = `Validations of ${this.#subject.domain} have failed too often in the last hour.`
    const problem = this.#job.error ?? ({ code: 'INTERNAL_ERROR', msg } as const)
    throw new IssueFailure(problem, { retryAfterMs: allowedAt - now })
  }

  async #openOrder(): Promise<Order | undefined> {
    if (this.#job.order === null) return undefined
    try {
      return await this.#context.acme.order(this.#job.order.url)
    } catch (error) {
      if (!(error instanceof AcmeRejected)) throw error
      // The order has expired, or the server has lost our account.
      return undefined
    }
  }

  async #newOrder(): Promise<Order> {
    const { acme, inventory } = this.#context
    const { keyType, names } = this.#subject
    const previous = this.#job.certificate && inventory.certificates.get(this.#job.certificate.id)
    await this.#requireLease()
    const order = await acme.newOrder(names, previous ? renewalId(previous.certPem) : undefined)
    const directory = acme.directoryUrl
    await this.#save({ order: { url: order.url, directory, keyType, names }, challenges: [] })
    return order
  }

  /** Renews the lease right before an irreversible step: after a pause, another node may hold it. */
  async #requireLease(): Promise<void> {
    if (!(await this.#lease.renew())) throw new LeaseLost(this.#lease.name)
  }

  /** Publishes the challenge responses, starts the validation, and waits for its result. */
  async #validate(order: Order): Promise<void> {
    const { acme } = this.#context
    const pending = (await acme.authorizations(order)).filter(({ status }) => status === 'pending')
    if (pending.length === 0) return
    const prepared = await Promise.all(pending.map((authorization) => this.#prepareChallenge(authorization)))
    const providerRecords = prepared.flatMap(({ providerRecord }) => providerRecord ?? [])
    await this.#save({
      challenges: prepared.flatMap(({ published }) => published),
      providerRecords: [...this.#job.providerRecords, ...providerRecords],
    })
    await this.#publishAtProvider(providerRecords)
    await this.#waitUntilVisible(prepared.filter(({ providerRecord }) => providerRecord === undefined))
    this.#startDeadline()
    for (const { challenge } of prepared)
      if (challenge.status === 'pending') await acme.respondToChallenge(challenge)

    for (let wait = MIN_POLL_MS; ; wait = Math.min(wait * 1.5, MAX_POLL_MS)) {
      await delay(wait, undefined, { signal: this.#signal })
      const authorizations = await acme.authorizations(order)
      const failed = authorizations.find(({ status }) => status !== 'pending' && status !== 'valid')
      if (failed !== undefined) throw await this.#validationFailure(failed)
      if (authorizations.every(({ status }) => status === 'valid')) return
      this.#requireTime()
    }
  }

  async #prepareChallenge(authorization: Authorization) {
    const { challenge: type, challengeAlias } = this.#subject
    const name = authorization.identifier.value
    const challenge = authorization.challenges.find((candidate) => candidate.type === type)
    if (challenge === undefined)
      throw new IssueFailure({
        code: 'INTERNAL_ERROR',
        msg: `The certificate authority does not offer ${type} validation for ${name}.`,
      })
    const value = await this.#context.acme.keyAuthorization(challenge)
    const names = [`_acme-challenge.${name}`, ...(challengeAlias === undefined ? [] : [challengeAlias])]
    const published: Challenge[] =
      challenge.type === 'http-01'
        ? [{ type: 'http-01', host: name, token: challenge.token, value }]
        : names.map((recordName) => ({ type: 'dns-01', name: recordName, value }))
    const location = await this.#locateAtProvider(name)
    const providerRecord = location === undefined ? undefined : { name: location, value }
    return { name, challenge, value, published, providerRecord }
  }

  /** Waits until every node serves the challenges: a validation that comes too early counts as failed. */
  async #waitUntilVisible(prepared: readonly { name: string; value: string }[]): Promise<void> {
    const { inventory, clock, resolver, timings } = this.#context
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(10_000)])
    await inventory.waitForRevision(this.#revision, signal).catch(() => {})
    if (this.#subject.challenge === 'http-01') {
      await delay(timings.propagationDelay, undefined, { signal: this.#signal })
      return
    }
    const deadline = clock.monotonic() + timings.dnsVisibility
    for (const { name, value } of prepared) {
      const recordName = `_acme-challenge.${name}`
      while (!(await resolver.txt(recordName).catch((): string[] => [])).includes(value)) {
        if (clock.monotonic() > deadline)
          throw new IssueFailure(
            {
              code: 'DNS_ERROR',
              msg: `The record that proves control of ${name} is not visible at ${recordName}. Check that its DNS points to this platform.`,
            },
            { keepOrder: true },
          )
        await delay(Math.min(500, timings.dnsVisibility / 10), undefined, { signal: this.#signal })
      }
    }
  }

  /** The records at the DNS provider; undefined for subjects that only our own name server can prove. */
  get #challengeRecords(): ChallengeRecords | undefined {
    const { kind, challenge } = this.#subject
    return challenge === 'dns-01' && kind !== 'ingress' ? this.#context.challengeRecords : undefined
  }

  #checkDns(): Promise<DnsFinding | undefined> {
    const usesProvider = this.#challengeRecords !== undefined
    return checkDns(this.#subject, { ...this.#context, base: this.#context.inventory.base, usesProvider })
  }

  /** Fails before anything is ordered when the provider could not publish the records. */
  async #requireProviderZones(): Promise<void> {
    const records = this.#challengeRecords
    if (records === undefined) return
    const bareNames = new Set(this.#subject.names.map((name) => name.replace(/^\*\./, '')))
    const locations = await Promise.all([...bareNames].map((name) => this.#locateAtProvider(name)))
    const names = locations.filter((name) => name !== undefined)
    if (names.length > 0) await records.requireZones(names, this.#signal)
  }

  /** Where the DNS provider publishes the challenge of a name; undefined when our own name server answers for it. */
  async #locateAtProvider(name: string): Promise<string | undefined> {
    const { kind, challengeAlias } = this.#subject
    // A user's CNAME record could lead to any name of the operator's zones, so it is not followed (decision 183).
    const challengeName = kind === 'domain' ? challengeAlias : `_acme-challenge.${name}`
    return challengeName && this.#challengeRecords?.locate(challengeName)
  }

  async #publishAtProvider(records: readonly ChallengeRecord[]): Promise<void> {
    const provider = this.#challengeRecords
    if (provider === undefined || records.length === 0) return
    await provider.publish(records, this.#signal)
    const timeoutMs = this.#context.timings.providerPropagation
    const invisible = await provider.waitUntilVisible(records, {
      timeoutMs,
      signal: this.#signal,
    })
    if (invisible === undefined) return
    const msg = `The record that the DNS provider has at ${invisible} is not visible at all name servers of its zone after ${timeoutMs / 1000} s.`
    throw new IssueFailure({ code: 'INTERNAL_ERROR', msg }, { keepOrder: true })
  }

  /** Removes the job's records at the DNS provider. What fails to be removed stays in the job for a later attempt. */
  async #removeProviderRecords(): Promise<void> {
    const { providerRecords, startedAt, certificate } = this.#job
    if (providerRecords.length === 0) return
    const { challengeRecords, clock, log } = this.#context
    if (challengeRecords === undefined)
      log.warn({ domain: this.#subject.domain }, 'challenge records left behind: no DNS provider configured')
    const remaining = (await challengeRecords?.remove(providerRecords, this.#signal)) ?? []
    const cleanupAt = remaining.length === 0 ? (certificate?.renewsAt ?? 0) : clock.now() + CLEANUP_RETRY_MS
    await this.#save({ providerRecords: remaining, ...(startedAt === null ? { dueAt: cleanupAt } : {}) })
  }

  #startDeadline(): void {
    const { clock, timings } = this.#context
    this.#deadline = clock.monotonic() + timings.validation
  }

  #requireTime(): void {
    if (this.#context.clock.monotonic() < this.#deadline) return
    throw new IssueFailure(
      { code: 'INTERNAL_ERROR', msg: 'The certificate authority has not finished validating the name yet.' },
      { keepOrder: true },
    )
  }

  async #orderFailure(order: Order): Promise<IssueFailure> {
    const authorizations = await this.#context.acme.authorizations(order)
    const failed = authorizations.find(({ status }) => status === 'invalid')
    if (failed !== undefined) return this.#validationFailure(failed)
    const problem = order.error
    return this.#rejection(problemType(problem), problem?.detail ?? 'It gave no reason.')
  }

  /** The failure of a validation. A DNS check tells whether the owner or the platform has to fix it. */
  async #validationFailure(authorization: Authorization): Promise<IssueFailure> {
    const problem = authorization.challenges
      .map((challenge) => challenge.error)
      .find((error) => error !== undefined)
    const failure = this.#rejection(
      problemType(problem),
      problem?.detail ?? `The authorization is ${authorization.status}.`,
    )
    const dnsProblem = failure.problem.code === 'DNS_ERROR' ? undefined : await this.#checkDns()
    return new IssueFailure(dnsProblem ?? failure.problem, { failedValidation: true })
  }

  #rejection(type: string, detail: string, retryAfterMs?: number): IssueFailure {
    const code = OWNER_PROBLEMS.includes(type) ? 'DNS_ERROR' : 'INTERNAL_ERROR'
    const msg = `The certificate authority refused a certificate for ${this.#subject.domain}: ${detail}`
    return new IssueFailure({ code, msg: msg.slice(0, 2000) }, { retryAfterMs })
  }

  #toFailure(error: unknown): IssueFailure {
    const { log } = this.#context
    const { domain } = this.#subject
    if (error instanceof StoreUnavailable) throw error
    if (error instanceof IssueFailure) return error
    if (error instanceof DnsProviderError) {
      const { message: msg, retryAfterMs } = error
      return new IssueFailure({ code: 'INTERNAL_ERROR', msg }, { keepOrder: true, retryAfterMs })
    }
    if (error instanceof ResolverError)
      return new IssueFailure({ code: 'INTERNAL_ERROR', msg: error.message }, { keepOrder: true })
    if (error instanceof AcmeRejected) {
      const failure = this.#rejection(error.type, error.message, error.retryAfterMs)
      return error.type === 'orderNotReady' ? new IssueFailure(failure.problem, { keepOrder: true }) : failure
    }
    if (error instanceof AcmeUnavailable) {
      log.warn({ domain, err: error }, 'certificate authority unavailable')
      return new IssueFailure(
        { code: 'INTERNAL_ERROR', msg: 'The certificate authority cannot be reached at the moment.' },
        { keepOrder: true, retryAfterMs: error.retryAfterMs },
      )
    }
    log.error({ domain, err: error }, 'certificate job failed unexpectedly')
    return new IssueFailure(
      { code: 'INTERNAL_ERROR', msg: 'An unexpected error occurred; see the log of the server.' },
      { keepOrder: true },
    )
  }

  /** A subject that was deleted meanwhile has no status any more, but its records at the provider remain to be removed. */
  async #failUnlessSuperseded(failure: IssueFailure): Promise<void> {
    await this.#fail(failure).catch((error) => {
      if (!(error instanceof SupersededError)) throw error
    })
  }

  async #fail(failure: IssueFailure): Promise<void> {
    const { clock, random, log } = this.#context
    const { failedValidation, keepOrder, problem } = failure
    const now = clock.now()
    if (failedValidation) await this.#jobStore.recordFailure()
    const attempts = this.#job.attempts + 1
    const failedSince = this.#job.failedSince ?? now
    // A job of the platform itself has no owner to wake it, so it is never given up.
    const since = this.#subject.kind === 'domain' || this.#subject.kind === 'ingress' ? failedSince : now
    const backoffAt = retryAt({ now, attempts, failedSince: since, pace: failure.pace }, random)
    const allowedAt = nextValidationAt(await this.#jobStore.failures(), now)
    const notBefore = Math.max(allowedAt, now + failure.retryAfterMs)
    const dueAt = backoffAt === undefined ? null : Math.max(backoffAt, notBefore)
    log.warn(
      { domain: this.#subject.domain, ...problem, retriesAt: dueAt && formatTimestamp(dueAt) },
      'certificate attempt failed',
    )
    if (!keepOrder) this.#key = undefined
    await this.#save({
      startedAt: this.#job.startedAt ?? now,
      dueAt,
      notBefore,
      error: dueAt === null ? { ...problem, msg: `${problem.msg} ${GAVE_UP_MESSAGE}` } : problem,
      attempts: dueAt === null ? 0 : attempts,
      failedSince: dueAt === null ? null : failedSince,
      ...(keepOrder ? {} : { order: null }),
      challenges: [],
    })
  }

  /** Stores the certificate: from this commit on it is served instead of the previous one. */
  async #install(order: Order, privateKey: Secret): Promise<void> {
    const { acme, clock, log } = this.#context
    const pem = await acme.certificate(order)
    const key = privateKey.reveal()
    const fields = readTlsCertificate(pem, key)
    const { names, keyType, domain, kind } = this.#subject
    if (!names.every((name) => fields.subject_alternative_names.dns_names.includes(name)))
      throw new Error('the certificate does not name what was ordered')
    const now = clock.now()
    const id = newId(TlsCertificate.prefix, now)
    const issued: IssuedCertificate = {
      id,
      directory: acme.directoryUrl,
      keyType,
      names,
      notAfter: Date.parse(fields.not_after),
      renewsAt: await this.#planRenewal(pem, fields, now),
    }
    const account = kind === 'own' ? PLATFORM : this.#subject.account
    const work = async (tx: Transaction): Promise<void> => {
      await tx.insert(
        draftOf(TlsCertificate, id, account, {
          ...TlsCertificate.parseCreate({
            certificate_pem: pem,
            private_key_pem: key,
            description: `Issued automatically for ${domain}`.slice(0, 255),
          }),
          ...fields,
          issued_at: formatTimestamp(now),
          managed: true,
        }),
      )
    }
    this.#key = undefined
    this.#job = {
      ...this.#job,
      startedAt: null,
      dueAt: issued.renewsAt,
      error: null,
      attempts: 0,
      failedSince: null,
      order: null,
      challenges: [],
      certificate: issued,
    }
    this.#revision = await this.#jobStore.commit(
      { job: this.#job, key: undefined },
      { certificateId: id, work },
    )
    log.info({ domain, renewsAt: formatTimestamp(issued.renewsAt) }, 'certificate issued')
  }

  async #planRenewal(
    pem: string,
    fields: { not_before: string; not_after: string },
    now: number,
  ): Promise<number> {
    const { acme, random, log } = this.#context
    const lifetime = { notBefore: Date.parse(fields.not_before), notAfter: Date.parse(fields.not_after) }
    const window = await acme.renewalWindow(pem).catch((error) => {
      log.debug({ err: error }, 'renewal information unavailable')
      return undefined
    })
    const planned = window === undefined ? renewalAt(lifetime, random) : suggestedAt(window, now, random)
    return Math.max(planned, earliestRenewalAt(lifetime, now))
  }

  async #save(change: Partial<Job>): Promise<void> {
    this.#job = { ...this.#job, ...change }
    this.#revision = await this.#jobStore.save({ job: this.#job, key: this.#key })
  }
}

const GAVE_UP_MESSAGE = 'Retries ended after 30 days without success; update the resource to try again.'
