import { resources } from '../../resources/index.ts'
import type { PagedFollower, Store } from '../../store/index.ts'

/** The kinds that the traffic pages show. */
const FOLLOWED_KINDS = Object.keys(resources).filter((kind) => /^(edges|backends|reserved)_/.test(kind))

/** Tracks configuration changes, so that pages reload only when something changed. */
export interface ChangeTracker {
  start(): Promise<void>
  stop(): void
  /** Grows whenever an object on the account's pages is created or changed. */
  revisionOf(accountId: string): number
  /** Grows with every deletion in any account: a deleted row does not name its account. */
  lastDeletion(): number
}

/** Follows the store and records the last revision of each account. */
export function createChangeTracker({ store }: { store: Store }): ChangeTracker {
  const revisions = new Map<string, number>()
  let startRevision = 0
  let deletionRevision = 0
  let subscription: { stop(): void } | undefined
  const follower: PagedFollower = {
    load: () => ({
      complete(revision) {
        startRevision = revision
      },
    }),
    change(changes) {
      for (const { row, revision } of changes) {
        if (row === undefined) deletionRevision = revision
        else revisions.set(row.account, revision)
      }
    },
  }
  return {
    async start() {
      subscription = await store.follow(FOLLOWED_KINDS, follower)
    },
    stop: () => subscription?.stop(),
    revisionOf: (accountId) => Math.max(startRevision, revisions.get(accountId) ?? 0),
    lastDeletion: () => deletionRevision,
  }
}
