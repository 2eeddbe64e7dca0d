import type { Follower, Store } from '../store/index.ts'

/** What the pages about traffic show. */
const FOLLOWED_KINDS = [
  'edges_https',
  'edges_https_routes',
  'edges_tls',
  'edges_tcp',
  'backends_http_response',
  'backends_tunnel_group',
  'backends_weighted',
  'backends_failover',
  'backends_static',
  'reserved_domains',
  'reserved_addrs',
]

/** Tells pages when it is worth reading again, so that they need not ask and ask. */
export interface ChangeTracker {
  start(): Promise<void>
  stop(): void
  /** Grows whenever something that the account's pages show was made or changed. */
  revisionOf(accountId: string): number
  /** Grows whenever something was deleted, by whatever account: a row that is gone does not say whose it was. */
  lastDeletion(): number
}

/** Follows the store and remembers a number for each account that has changed something since the start. */
export function createChangeTracker({ store }: { store: Store }): ChangeTracker {
  const revisions = new Map<string, number>()
  let startRevision = 0
  let deletionRevision = 0
  let subscription: { stop(): void } | undefined
  const follower: Follower = {
    reset(_rows, revision) {
      startRevision = revision
    },
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
