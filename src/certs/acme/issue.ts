import { setTimeout as delay } from 'node:timers/promises'
import type { Authorization, Order } from 'acme-client'
import { type Clock, timestamp } from '../../base/clock.ts'
import { newId } from '../../base/id.ts'
import type { Logger } from '../../base/log.ts'
import type { Secret } from '../../base/secret.ts'
import { type Resource, TlsCertificate } from '../../resources/index.ts'
import {
  draftOf,
  type Lease,
  LeaseLost,
  type Store,
  StoreUnavailable,
  type Transaction,
} from '../../store/index.ts'
import type { KeyMaker } from '../x509/keys.ts'
import { readTlsCertificate } from '../x509/x509.ts'
import type { Acme } from './client.ts'
import { findTrouble, type Trouble } from './dns-preflight.ts'
import type { Inventory } from './inventory.ts'
import { type Challenge, dueAt, type Issued, type Job, sameNames } from './job.ts'
import { Ledger, Superseded } from './job-store.ts'
import { renewalId } from './renewal-info.ts'
import type { NameResolver } from './resolver.ts'
import { type Chance, nextValidationAt, renewalAt, retryAt, suggestedAt } from './schedule.ts'
import { PLATFORM, type Subject } from './subject.ts'
import { type AcmeProblem, AcmeRefused, AcmeUnavailable, problemType } from './transport.ts'

/** How long the steps of an order may take, in milliseconds. */
export interface Timings {
  /** Until every node has heard of a challenge. */
  readonly settle: number
  /** Until a record that we publish is seen through the resolver. */
  readonly propagation: number
  /** Until the authority has made up its mind. */
  readonly validation: number
}

export const defaultTimings: Timings = { settle: 1000, propagation: 60_000, validation: 180_000 }

/** What working on a job needs. */
export interface IssueTools {
  readonly store: Store
  readonly acme: Acme
  readonly inventory: Inventory
  readonly resolver: NameResolver
  readonly nameServers: readonly string[]
  readonly keys: KeyMaker
  readonly clock: Clock
  readonly chance: Chance
  readonly timings: Timings
  readonly log: Logger
}

/** A step that did not lead on: what to tell, and how to go on from here. */
class Setback extends Error {
  override name = 'Setback'
  readonly trouble: Trouble
  /** The authority has looked and not found us, which it counts. */
  readonly validation: boolean
  /** Whether the order can still become a certificate. */
  readonly keepOrder: boolean
  readonly retryAfterMs: number

  constructor(
    trouble: Trouble,
    how: { validation?: boolean; keepOrder?: boolean; retryAfterMs?: number | undefined } = {},
  ) {
    super(trouble.msg)
    this.trouble = trouble
    this.validation = how.validation ?? false
    this.keepOrder = how.keepOrder ?? false
    this.retryAfterMs = how.retryAfterMs ?? 0
  }
}

const DAY = 24 * 60 * 60 * 1000
const FIRST_POLL_MS = 150
const LONGEST_POLL_MS = 3000

/** Problems of an authority that only whoever owns the name can solve. */
const OWNERS_PROBLEMS = ['dns', 'caa', 'rejectedIdentifier', 'unsupportedIdentifier']

/** One turn of work on a subject's certificate, under a lease; it goes on wherever the last turn ended, on any node. */
export class IssueTurn {
  readonly #tools: IssueTools
  readonly #subject: Subject
  readonly #lease: Lease
  readonly #signal: AbortSignal
  readonly #ledger: Ledger
  #job!: Job
  #key: Secret | undefined
  #revision = 0

  constructor(tools: IssueTools, subject: Subject, lease: Lease, signal: AbortSignal) {
    this.#tools = tools
    this.#subject = subject
    this.#lease = lease
    this.#signal = signal
    const { store, clock, inventory } = tools
    this.#ledger = new Ledger({ store, clock, base: inventory.base, subject, lease })
  }

  /** Works until there is a certificate or a reason to wait. Answers with the last revision it wrote, 0 for none. */
  async run(): Promise<number> {
    const { log } = this.#tools
    try {
      if (!(await this.#isDue())) return 0
      try {
        await this.#work()
      } catch (error) {
        if (!this.#isOver(error)) await this.#fail(this.#setbackOf(error))
      }
    } catch (error) {
      if (!this.#isOver(error)) throw error
    }
    if (this.#signal.aborted) log.info({ domain: this.#subject.domain }, 'certificate job left to others')
    return this.#revision
  }

  /** Looked up anew under the lease: another node may have done the work while this one waited. */
  async #isDue(): Promise<boolean> {
    const { acme, clock } = this.#tools
    const { job, key, subjectRevision, began } = await this.#ledger.read()
    this.#job = job
    this.#key = key
    const facts = { directory: acme.directoryUrl, subjectRevision, now: clock.now() }
    const due = dueAt(this.#subject, began ? job : undefined, facts)
    return due !== undefined && due <= clock.now()
  }

  /** Whether there is nothing to do here any more: it is another node's now, unwanted, or the server is stopping. */
  #isOver(error: unknown): boolean {
    return error instanceof LeaseLost || error instanceof Superseded || this.#signal.aborted
  }

  async #work(): Promise<void> {
    const { acme, clock, keys, inventory } = this.#tools
    this.#dropStaleOrder()
    if (this.#job.order === null) {
      await this.#refuseWhenLimited()
      const trouble = await findTrouble(this.#subject, { ...this.#tools, base: inventory.base })
      if (trouble !== undefined) throw new Setback(trouble)
    }
    const now = clock.now()
    this.#key ??= await keys.make(this.#subject.keyType)
    await this.#save({ startedAt: this.#job.startedAt ?? now, dueAt: now, error: null })

    let order = (await this.#openOrder()) ?? (await this.#newOrder())
    const deadline = clock.monotonic() + this.#tools.timings.validation
    let finalized = false
    for (let wait = FIRST_POLL_MS; ; wait = Math.min(wait * 1.5, LONGEST_POLL_MS)) {
      if (order.status === 'valid') return this.#receive(order)
      if (order.status === 'invalid') throw await this.#invalid(order)
      if (order.status === 'pending') await this.#validate(order, deadline)
      else if (order.status === 'ready' && !finalized) {
        await this.#requireLease()
        await acme.finalize(order, this.#subject.names, this.#key)
        finalized = true
      } else {
        this.#refuseLate(deadline)
        await delay(wait, undefined, { signal: this.#signal })
      }
      order = await acme.order(order.url)
    }
  }

  /** An order for what is not wanted any more is left to run out. */
  #dropStaleOrder(): void {
    const { order } = this.#job
    if (order === null) return
    const { keyType, names } = this.#subject
    const current =
      order.directory === this.#tools.acme.directoryUrl &&
      order.keyType === keyType &&
      sameNames(order.names, names) &&
      this.#key !== undefined
    if (current) return
    this.#job = { ...this.#job, order: null, challenges: [] }
    this.#key = undefined
  }

  async #refuseWhenLimited(): Promise<void> {
    const now = this.#tools.clock.now()
    const allowed = nextValidationAt(await this.#ledger.failures(), now)
    if (allowed <= now) return
    const msg = `Validations of ${this.#subject.domain} have failed too often in the last hour.`
    const trouble = this.#job.error ?? ({ code: 'INTERNAL_ERROR', msg } as const)
    throw new Setback(trouble, { retryAfterMs: allowed - now })
  }

  async #openOrder(): Promise<Order | undefined> {
    if (this.#job.order === null) return undefined
    try {
      return await this.#tools.acme.order(this.#job.order.url)
    } catch (error) {
      if (!(error instanceof AcmeRefused)) throw error
      // Run out, or of a server that does not know us any more.
      return undefined
    }
  }

  async #newOrder(): Promise<Order> {
    const { acme, inventory } = this.#tools
    const { keyType, names } = this.#subject
    const old = this.#job.certificate && inventory.certificates.get(this.#job.certificate.id)
    await this.#requireLease()
    const order = await acme.newOrder(names, old ? renewalId(old.certPem) : undefined)
    const directory = acme.directoryUrl
    await this.#save({ order: { url: order.url, directory, keyType, names }, challenges: [] })
    return order
  }

  /** Asked right before whatever cannot be taken back: after a pause, this lease may be somebody else's. */
  async #requireLease(): Promise<void> {
    if (!(await this.#lease.renew())) throw new LeaseLost(this.#lease.name)
  }

  /** Publishes what proves that the names are ours, has the authority look, and waits for what it says. */
  async #validate(order: Order, deadline: number): Promise<void> {
    const { acme } = this.#tools
    const pending = (await acme.authorizations(order)).filter(({ status }) => status === 'pending')
    if (pending.length === 0) return
    const answers = await Promise.all(pending.map((authorization) => this.#answerOf(authorization)))
    await this.#save({ challenges: answers.flatMap(({ published }) => published) })
    await this.#seen(answers)
    for (const { challenge } of answers) if (challenge.status === 'pending') await acme.answer(challenge)

    for (let wait = FIRST_POLL_MS; ; wait = Math.min(wait * 1.5, LONGEST_POLL_MS)) {
      await delay(wait, undefined, { signal: this.#signal })
      const authorizations = await acme.authorizations(order)
      const failed = authorizations.find(({ status }) => status !== 'pending' && status !== 'valid')
      if (failed !== undefined) throw await this.#notValidated(failed)
      if (authorizations.every(({ status }) => status === 'valid')) return
      this.#refuseLate(deadline)
    }
  }

  async #answerOf(authorization: Authorization) {
    const { challenge: type, challengeAlias } = this.#subject
    const name = authorization.identifier.value
    const challenge = authorization.challenges.find((offered) => offered.type === type)
    if (challenge === undefined)
      throw new Setback({
        code: 'INTERNAL_ERROR',
        msg: `The certificate authority does not offer ${type} validation for ${name}.`,
      })
    const value = await this.#tools.acme.keyAuthorization(challenge)
    const places = [`_acme-challenge.${name}`, ...(challengeAlias === undefined ? [] : [challengeAlias])]
    const published: Challenge[] =
      challenge.type === 'http-01'
        ? [{ type: 'http-01', host: name, token: challenge.token, value }]
        : places.map((place) => ({ type: 'dns-01', name: place, value }))
    return { name, challenge, value, published }
  }

  /** Waits until whoever is asked, on any node, gives the right answer: a look that comes too early counts as failed. */
  async #seen(answers: readonly { name: string; value: string }[]): Promise<void> {
    const { inventory, clock, resolver, timings } = this.#tools
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(10_000)])
    await inventory.reached(this.#revision, signal).catch(() => {})
    if (this.#subject.challenge === 'http-01') {
      await delay(timings.settle, undefined, { signal: this.#signal })
      return
    }
    const deadline = clock.monotonic() + timings.propagation
    for (const { name, value } of answers) {
      const place = `_acme-challenge.${name}`
      while (!(await resolver.txt(place).catch((): string[] => [])).includes(value)) {
        if (clock.monotonic() > deadline)
          throw new Setback(
            {
              code: 'DNS_ERROR',
              msg: `The record that proves the control of ${name} is not visible at ${place}. Check that its DNS leads to this platform.`,
            },
            { keepOrder: true },
          )
        await delay(Math.min(500, timings.propagation / 10), undefined, { signal: this.#signal })
      }
    }
  }

  #refuseLate(deadline: number): void {
    if (this.#tools.clock.monotonic() < deadline) return
    throw new Setback(
      { code: 'INTERNAL_ERROR', msg: 'The certificate authority is taking long to validate the name.' },
      { keepOrder: true },
    )
  }

  async #invalid(order: Order): Promise<Setback> {
    const authorizations = await this.#tools.acme.authorizations(order)
    const failed = authorizations.find(({ status }) => status === 'invalid')
    if (failed !== undefined) return this.#notValidated(failed)
    const problem = order.error as AcmeProblem | undefined
    return this.#refusal(problemType(problem), problem?.detail ?? 'It gave no reason.')
  }

  /** The authority looked and was not content. Whether that is the owner's or our fault, a look at DNS can tell. */
  async #notValidated(authorization: Authorization): Promise<Setback> {
    const error = authorization.challenges
      .map((challenge) => challenge.error)
      .find((each) => each !== undefined)
    const problem = error as AcmeProblem | undefined
    const setback = this.#refusal(
      problemType(problem),
      problem?.detail ?? `The authorization is ${authorization.status}.`,
    )
    const { inventory } = this.#tools
    const found =
      setback.trouble.code === 'DNS_ERROR'
        ? undefined
        : await findTrouble(this.#subject, { ...this.#tools, base: inventory.base })
    return new Setback(found ?? setback.trouble, { validation: true })
  }

  #refusal(type: string, detail: string, retryAfterMs?: number): Setback {
    const code = OWNERS_PROBLEMS.includes(type) ? 'DNS_ERROR' : 'INTERNAL_ERROR'
    const msg = `The certificate authority refused a certificate for ${this.#subject.domain}: ${detail}`
    return new Setback({ code, msg: msg.slice(0, 2000) }, { retryAfterMs })
  }

  #setbackOf(error: unknown): Setback {
    const { log } = this.#tools
    const { domain } = this.#subject
    if (error instanceof StoreUnavailable) throw error
    if (error instanceof Setback) return error
    if (error instanceof AcmeRefused) {
      const setback = this.#refusal(error.type, error.message, error.retryAfterMs)
      return error.type === 'orderNotReady' ? new Setback(setback.trouble, { keepOrder: true }) : setback
    }
    if (error instanceof AcmeUnavailable) {
      log.warn({ domain, err: error }, 'the certificate authority could not be asked')
      return new Setback(
        { code: 'INTERNAL_ERROR', msg: 'The certificate authority cannot be reached at the moment.' },
        { keepOrder: true, retryAfterMs: error.retryAfterMs },
      )
    }
    log.error({ domain, err: error }, 'a certificate job met an unexpected error')
    return new Setback(
      { code: 'INTERNAL_ERROR', msg: 'Something unexpected happened; the log of the server says what.' },
      { keepOrder: true },
    )
  }

  async #fail(setback: Setback): Promise<void> {
    const { clock, chance, log } = this.#tools
    const { validation, keepOrder, trouble } = setback
    const now = clock.now()
    if (validation) await this.#ledger.noteFailure()
    const attempts = this.#job.attempts + 1
    const failedSince = this.#job.failedSince ?? now
    const onlyLooked = trouble.code === 'DNS_ERROR' && !validation
    // Nobody could wake a job of the platform itself, so those are never given up.
    const since = this.#subject.kind === 'domain' || this.#subject.kind === 'ingress' ? failedSince : now
    const retry = retryAt({ now, attempts, failedSince: since, onlyLooked }, chance)
    const allowed = nextValidationAt(await this.#ledger.failures(), now)
    const next = retry === undefined ? null : Math.max(retry, allowed, now + setback.retryAfterMs)
    log.warn(
      { domain: this.#subject.domain, ...trouble, retriesAt: next && timestamp(next) },
      'no certificate yet',
    )
    if (!keepOrder) this.#key = undefined
    await this.#save({
      startedAt: this.#job.startedAt ?? now,
      dueAt: next,
      error: next === null ? { ...trouble, msg: `${trouble.msg} ${GAVE_UP}` } : trouble,
      attempts: next === null ? 0 : attempts,
      failedSince: next === null ? null : failedSince,
      ...(keepOrder ? {} : { order: null }),
      challenges: [],
    })
  }

  /** Takes the certificate over: from this commit on it is served instead of the one before. */
  async #receive(order: Order): Promise<void> {
    const { acme, clock, log } = this.#tools
    const pem = await acme.certificate(order)
    const key = this.#key!.reveal()
    const facts = readTlsCertificate(pem, key)
    const { names, keyType, domain, kind } = this.#subject
    if (!names.every((name) => facts.subject_alternative_names.dns_names.includes(name)))
      throw new Error('the certificate does not name what was ordered')
    const now = clock.now()
    const id = newId(TlsCertificate.prefix, now)
    const issued: Issued = {
      id,
      directory: acme.directoryUrl,
      keyType,
      names,
      notAfter: Date.parse(facts.not_after),
      renewsAt: await this.#renewalOf(pem, facts, now),
    }
    const account = kind === 'own' ? PLATFORM : this.#subject.account
    const work = async (tx: Transaction): Promise<void> => {
      await tx.insert(
        draftOf(TlsCertificate as unknown as Resource, id, account, {
          ...TlsCertificate.parseCreate({
            certificate_pem: pem,
            private_key_pem: key,
            description: `Issued automatically for ${domain}`.slice(0, 255),
          }),
          ...facts,
          issued_at: timestamp(now),
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
    this.#revision = await this.#ledger.commit(
      { job: this.#job, key: undefined },
      { certificateId: id, work },
    )
    log.info({ domain, renewsAt: timestamp(issued.renewsAt) }, 'certificate issued')
  }

  async #renewalOf(
    pem: string,
    facts: { not_before: string; not_after: string },
    now: number,
  ): Promise<number> {
    const { acme, chance, log } = this.#tools
    const notBefore = Date.parse(facts.not_before)
    const notAfter = Date.parse(facts.not_after)
    const window = await acme.renewalWindow(pem).catch((error) => {
      log.debug({ err: error }, 'no renewal information')
      return undefined
    })
    if (window === undefined) return renewalAt({ notBefore, notAfter }, chance)
    // Whatever it suggests, a certificate that has only just been issued is not replaced again at once.
    return Math.max(suggestedAt(window, now, chance), now + Math.min(DAY, (notAfter - notBefore) / 3))
  }

  async #save(change: Partial<Job>): Promise<void> {
    this.#job = { ...this.#job, ...change }
    this.#revision = await this.#ledger.save({ job: this.#job, key: this.#key })
  }
}

const GAVE_UP =
  'It has been tried for 30 days and is not tried any more; update the resource to have it tried again.'
