import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { createTempDir } from '../../../test/support/temp-dir.ts'
import { createOutbound } from '../../base/outbound/outbound.ts'
import { silentLog } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import { newId } from '../../base/values/id.ts'
import { EventDestination, EventSubscription, type Resource, User } from '../../resources/index.ts'
import { type DurableStore, draftOf, openStore, type Transaction } from '../../store/index.ts'
import type { EventsOptions } from '../events.ts'
import { createEvents, type Events } from '../index.ts'

/** A clock that only moves when a test advances it. */
export class ManualClock implements Clock {
  #now = Date.UTC(2026, 0, 2, 3, 4, 5)

  now(): number {
    return this.#now
  }

  monotonic(): number {
    return this.#now
  }

  advance(milliseconds: number): void {
    this.#now += milliseconds
  }
}

export const ACCOUNT = 'ac_000000000000000000000000001'

/** Opens a store in a directory, by default a new one. */
export async function openTestStore(
  t: TestContext,
  clock: Clock,
  { url, dataDir = createTempDir() }: { url?: string; dataDir?: string } = {},
): Promise<DurableStore> {
  const masterKeyFile = join(dataDir, 'master.key')
  const store = await openStore({ url, dataDir, masterKeyFile, clock, log: silentLog })
  t.after(() => store.close())
  return store
}

/** Writes to a store as the API does. */
export function createWriter(store: DurableStore, author: { principal?: string; credential?: string } = {}) {
  const write = <T>(kind: string, object: string, action: string, work: (tx: Transaction) => Promise<T>) =>
    store.write(author, async (tx) => {
      const value = await work(tx)
      const { principal, credential } = author
      await tx.audit({
        account: ACCOUNT,
        principal,
        credential,
        source: undefined,
        requestId: newId('op'),
        action,
        kind,
        object,
        outcome: 'done',
      })
      return value
    })
  const draft = (resource: Resource, id: string, body: Record<string, unknown>) =>
    draftOf(resource, id, ACCOUNT, resource.parseCreate(body))
  return {
    async create(resource: Resource, body: Record<string, unknown>, id?: string): Promise<string> {
      const { prefix, kind } = resource
      const newRowId = id ?? newId(prefix)
      await write(kind, newRowId, 'create', (tx) => tx.insert(draft(resource, newRowId, body)))
      return newRowId
    },
    async update(resource: Resource, id: string, body: Record<string, unknown>): Promise<void> {
      await write(resource.kind, id, 'update', (tx) => tx.update(draft(resource, id, body)))
    },
    async remove(resource: Resource, id: string): Promise<void> {
      const { kind } = resource
      await write(kind, id, 'delete', (tx) => tx.remove(kind, ACCOUNT, id))
    },
    user: (email: string, id: string) =>
      write('users', id, 'create', (tx) => tx.insert(draft(User, id, { email }))),
    /** A webhook destination for this URL. */
    async webhook(url: string): Promise<string> {
      return this.create(EventDestination, { target: { webhook: { url, secret: 'whsec_c2VjcmV0' } } })
    },
    async subscribe(
      destinations: string[],
      ...sources: (string | Record<string, unknown>)[]
    ): Promise<string> {
      return this.create(EventSubscription, {
        sources: sources.map((source) => (typeof source === 'string' ? { type: source } : source)),
        destination_ids: destinations,
      })
    },
  }
}

/** The events part on a store, allowed to call the loopback address. */
export function createTestEvents(
  t: TestContext,
  store: DurableStore,
  clock: Clock,
  options: Partial<EventsOptions> = {},
): Events {
  const outbound = createOutbound({ allow: ['127.0.0.1'], totalTimeoutMs: 15_000 })
  const events = createEvents({
    store,
    outbound,
    log: silentLog,
    apiUrl: () => 'http://api.test',
    clock,
    random: () => 0,
    ...options,
    limits: { tickMs: 5, graceMs: 200, ...options.limits },
  })
  t.after(async () => {
    await events.stop()
    await outbound.close()
  })
  return events
}
