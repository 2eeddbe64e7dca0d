import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import { type KsuidGenerator, prefixOf } from '../../base/values/id.ts'
import { allResources, EVENT_TYPES, type Resource } from '../../resources/index.ts'
import {
  type Change,
  type EventQueue,
  type Lease,
  LeaseLost,
  type QueuedEvent,
  type RecordOfKind,
  type Store,
} from '../../store/index.ts'
import { Subscriptions } from '../destinations/subscriptions.ts'
import { type EventPrincipal, renderObject, serializeEvent, uriOf } from '../event.ts'

const PAGE_SIZE = 200
// Followers further behind than this are reset from the rows.
const RETAINED_CHANGES = 10_000
/** As many are deleted at once, so that few commits do nothing else. */
const PRUNED_AT_ONCE = 1_000
const SUBSCRIPTIONS = 'event_subscriptions'

/** The id prefix of dashboard sessions. */
const BROWSER_SESSION_PREFIX = 'das'

const byKind = new Map(allResources.map((resource) => [resource.kind, resource]))

/**
 * Turns committed changes into queued events. It keeps its own subscriptions, built from the same changes, so that each
 * change is matched against the subscriptions of its time, however late it is processed.
 */
export class Outbox {
  readonly #store: Store
  readonly #queue: EventQueue
  readonly #clock: Clock
  readonly #log: Logger
  readonly #apiUrl: () => string
  readonly #limit: number
  readonly #subscriptions: Subscriptions
  readonly #ids: KsuidGenerator
  #loaded = false
  #cursor: number | undefined
  #pruned = 0

  constructor(options: {
    store: Store
    queue: EventQueue
    clock: Clock
    log: Logger
    apiUrl: () => string
    limit: number
    ids: KsuidGenerator
  }) {
    this.#store = options.store
    this.#queue = options.queue
    this.#clock = options.clock
    this.#log = options.log
    this.#apiUrl = options.apiUrl
    this.#limit = options.limit
    this.#ids = options.ids
    this.#subscriptions = new Subscriptions(options.log)
  }

  /** Processes all committed changes. Throws `LeaseLost` where another process has the lease, or has moved the cursor. */
  async advance(lease: Lease): Promise<void> {
    if (!this.#loaded) await this.#load()
    for (;;) {
      const changes = await this.#store.changes({ after: this.#cursor ?? 0, limit: PAGE_SIZE })
      const to = changes.at(-1)?.revision
      if (to === undefined) return
      const events = await this.#toEvents(changes)
      const options = { now: this.#clock.now(), limit: this.#limit, from: this.#cursor, to, lease }
      if (!(await this.#queue.addChanges(events, options))) throw new LeaseLost(lease.name)
      this.#cursor = to
    }
  }

  /** Reloads the state from the store on the next call: another process may have advanced the cursor. */
  reset(): void {
    this.#loaded = false
    this.#pruned = 0
  }

  /** Deletes changes that have become events, once there are enough. */
  async prune(): Promise<void> {
    const upTo = (this.#cursor ?? 0) - RETAINED_CHANGES
    if (upTo < this.#pruned + PRUNED_AT_ONCE) return
    await this.#store.pruneChanges(upTo)
    this.#pruned = upTo
  }

  async #load(): Promise<void> {
    this.#subscriptions.clear()
    this.#cursor = await this.#queue.cursor()
    // Before the first cursor no change has been pruned, so the changes include all subscriptions.
    let after: string | undefined
    while (this.#cursor !== undefined) {
      const rows = await this.#store.scan(SUBSCRIPTIONS, { limit: PAGE_SIZE, after })
      for (const { id, account, data } of rows) this.#subscriptions.set(id, account, data)
      if (rows.length < PAGE_SIZE) break
      after = rows.at(-1)!.id
    }
    this.#loaded = true
  }

  async #toEvents(changes: readonly Change[]): Promise<QueuedEvent[]> {
    const principals = new Map<string, Promise<EventPrincipal>>()
    const events: QueuedEvent[] = []
    for (const change of changes) {
      const { kind, id, account, op, data } = change
      if (kind === SUBSCRIPTIONS && op !== 'deleted')
        this.#subscriptions.set(id, account, data as RecordOfKind<typeof SUBSCRIPTIONS>)
      events.push(...(await this.#toQueuedEvents(change, principals)))
      if (kind === SUBSCRIPTIONS && op === 'deleted') this.#subscriptions.remove(id)
    }
    return events
  }

  async #toQueuedEvents(
    change: Change,
    principals: Map<string, Promise<EventPrincipal>>,
  ): Promise<QueuedEvent[]> {
    const resource = byKind.get(change.kind)
    const type = `${resource?.event}_${change.op}.v0`
    if (resource?.event === undefined || !EVENT_TYPES.has(type)) return []
    const routes = this.#subscriptions.routes(type, change.account)
    if (routes.length === 0) return []
    const { account, committedAt: time, revision, principal, credential } = change
    const key = `${account} ${principal} ${credential}`
    if (principal !== undefined && !principals.has(key))
      principals.set(key, this.#resolvePrincipal(account, principal, credential))
    const event = serializeEvent(this.#ids, {
      type,
      accountId: account,
      time,
      sequence: revision,
      object: this.#renderObject(resource, change),
      principal: (await principals.get(key)) ?? null,
    })
    const destinations = new Set(routes.flatMap((route) => route.destinations))
    return [...destinations].map((destination) => ({ ...event, destination, account }))
  }

  /** A record that fails to render must not block the events after it. */
  #renderObject(resource: Resource, change: Change): unknown {
    try {
      return renderObject(resource, change, this.#apiUrl())
    } catch (error) {
      this.#log.error(
        { err: error, kind: change.kind, id: change.id },
        'rendering the object of an event failed',
      )
      return { id: change.id }
    }
  }

  async #resolvePrincipal(
    account: string,
    id: string,
    credential: string | undefined,
  ): Promise<EventPrincipal> {
    const subject = id.startsWith('bot_')
      ? (await this.#store.get('bot_users', account, id))?.data.name
      : (await this.#store.get('users', account, id))?.data.email
    const inBrowser = credential !== undefined && prefixOf(credential) === BROWSER_SESSION_PREFIX
    return {
      id,
      subject: subject ?? '',
      source: inBrowser ? 'Dashboard' : 'API',
      // A dashboard session is not a credential.
      credential:
        credential === undefined || inBrowser
          ? null
          : { id: credential, uri: uriOf(this.#apiUrl(), credential) },
    }
  }
}
