import { deleteOldest } from '../../../base/limits/delete-oldest.ts'
import type { Logger } from '../../../base/process/log.ts'
import type { Clock } from '../../../base/values/clock.ts'
import { type EdgeError, edgeError } from '../../errors.ts'
import type { SharedCounts } from '../../stats/shared-counts.ts'
import { type FailureName, failureKinds } from '../failures.ts'
import type { SignInError } from '../sign-in.ts'
import { describeFailure, type FailureDetails } from './provider-errors.ts'

/** Different failures of one scope that are remembered. */
const MAX_FAILURES = 20
/** A failure that repeats is logged, and is an event, this often. */
const REPORT_INTERVAL_MS = 60_000

/** Where a sign-in failed, as lists of endpoints and edges name it. */
export interface FailurePlace {
  readonly public_url: string
  readonly endpoint_id: string | null
  readonly edge_id: string | null
  readonly route_id: string | null
}

/** A failed sign-in, as its owner sees it. */
export interface FailedSignIn extends FailurePlace, FailureDetails {
  readonly failure: FailureName
  readonly cause: string
  readonly setting: string
  /** The issuer, entity id or name of the provider. */
  readonly provider: string
  readonly person?: string
  /** The last time. */
  readonly failed_at: string
  readonly count: number
}

/** The page that a sign-in was for. */
export interface SignInPage {
  readonly place: FailurePlace
  /** Opens it again. */
  readonly url: string
  /** Signs in with another account. */
  readonly switchUrl: string
}

/** Called with each failure that is reported. */
export type OnFailedSignIn = (accountId: string, failed: FailedSignIn) => void

interface Entry {
  failed: FailedSignIn
  /** Since `takeCounts`. */
  added: number
}

/** The reports of one kind of failure: what strangers can vary makes no further ones. */
interface Reports {
  pending: number
  lastAt: number
}

interface FailureLogOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly onFailed: OnFailedSignIn
}

/** The failed sign-ins of all routes and endpoints, as long as they exist. */
export class FailureLog {
  readonly #options: FailureLogOptions
  readonly #scopes = new Map<string, WeakRef<ScopeFailures>>()
  readonly #finalizer = new FinalizationRegistry<string>((scopeId) => {
    if (this.#scopes.get(scopeId)?.deref() === undefined) this.#scopes.delete(scopeId)
  })

  constructor(options: FailureLogOptions) {
    this.#options = options
  }

  ofScope(accountId: string, scopeId: string): ScopeFailures {
    const failures = new ScopeFailures(this.#options, accountId, scopeId)
    this.#scopes.set(scopeId, new WeakRef(failures))
    this.#finalizer.register(failures, scopeId)
    return failures
  }

  /** The latest first. */
  of(accountId: string): FailedSignIn[] {
    const scopes = [...this.#scopes.values()].map((scope) => scope.deref())
    return scopes
      .flatMap((scope) => (scope?.accountId === accountId ? scope.recent : []))
      .sort((one, other) => other.failed_at.localeCompare(one.failed_at))
  }
}

/**
 * The failed sign-ins of one route or endpoint: logged and reported once a minute for each reason, and the last of them kept
 * for its owner. All nodes know them.
 */
export class ScopeFailures implements SharedCounts {
  readonly accountId: string
  readonly #scopeId: string
  readonly #options: FailureLogOptions
  readonly #entries = new Map<string, Entry>()
  readonly #reports = new Map<FailureName, Reports>()
  onCounted: (() => void) | undefined

  constructor(options: FailureLogOptions, accountId: string, scopeId: string) {
    this.#options = options
    this.accountId = accountId
    this.#scopeId = scopeId
  }

  /** Those that are remembered, with the latest last. */
  get recent(): FailedSignIn[] {
    return [...this.#entries.values()].map(({ failed }) => failed)
  }

  /** Records a failure. */
  add(error: SignInError, provider: string, place: FailurePlace): void {
    const { failure, person } = error
    const { cause, owner, log } = failureKinds[failure]
    if (log === 'none') return
    const details = describeFailure(error)
    const now = this.#options.clock.now()
    const failed: FailedSignIn = {
      ...place,
      failure,
      cause,
      setting: owner,
      ...details,
      provider,
      ...(person !== '' && { person }),
      failed_at: new Date(now).toISOString(),
      count: 1,
    }
    this.#remember(failed).added++
    this.onCounted?.()
    const reports = this.#reports.get(failure) ?? { pending: 0, lastAt: Number.NEGATIVE_INFINITY }
    this.#reports.set(failure, reports)
    reports.pending++
    if (Math.abs(now - reports.lastAt) < REPORT_INTERVAL_MS) return
    const count = reports.pending
    this.#options.log[log](
      { scopeId: this.#scopeId, url: place.public_url, provider, failure, ...details, count },
      'sign-in failed',
    )
    this.#options.onFailed(this.accountId, { ...failed, count })
    reports.lastAt = now
    reports.pending = 0
  }

  takeCounts(): FailedSignIn[] {
    const changed = [...this.#entries.values()].filter(({ added }) => added > 0)
    return changed.map((entry) => {
      const count = entry.added
      entry.added = 0
      return { ...entry.failed, count }
    })
  }

  addCounts(counts: unknown): void {
    for (const failed of counts as FailedSignIn[]) this.#remember(failed)
  }

  #remember(failed: FailedSignIn): Entry {
    const key = JSON.stringify([failed.public_url, failed.failure, failed.person])
    const { failed: earlier, added } = this.#entries.get(key) ?? { failed: { count: 0 }, added: 0 }
    // Deleting first moves it to the young end.
    this.#entries.delete(key)
    if (this.#entries.size >= MAX_FAILURES) deleteOldest(this.#entries)
    const entry = { failed: { ...failed, count: earlier.count + failed.count }, added }
    this.#entries.set(key, entry)
    return entry
  }
}

/**
 * What the visitor gets. Nothing of what the provider said is in it. Without a page, the message answered no sign-in: it may
 * be a stranger's, so that it says nothing about the settings.
 */
export function toEdgeError({ failure, person }: SignInError, page: SignInPage | undefined): EdgeError {
  const isStray = page === undefined && failureKinds[failure].error === 'login_misconfigured'
  const kind = failureKinds[isStray ? 'response_invalid' : failure]
  const reason = (kind.visitor ?? '').replace('{person}', () => person)
  const error = createError(kind.error, reason).withOwnerStep(kind.owner)
  if (page === undefined) return error
  const again = { text: 'Open the page again', url: page.url }
  const another = { text: 'Use another account', url: page.switchUrl }
  return error.withLinks(kind.error === 'login_denied' ? [another, again] : [again])
}

function createError(name: (typeof failureKinds)[FailureName]['error'], reason: string): EdgeError {
  switch (name) {
    case 'login_denied':
      return edgeError('login_denied', reason)
    case 'login_failed':
      return edgeError('login_failed', reason)
    case 'login_misconfigured':
      return edgeError('login_misconfigured')
    case 'login_provider_unavailable':
      return edgeError('login_provider_unavailable')
  }
}
