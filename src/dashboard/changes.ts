import type { Follower, Store } from '../store/index.ts'

/** What the pages about traffic show. */
const KINDS = [
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
export interface Changes {
  start(): Promise<void>
  stop(): void
  /** Grows whenever something that the account's pages show was made or changed. */
  of(accountId: string): number
  /** Grows whenever something was deleted, by whatever account: a row that is gone does not say whose it was. */
  deletions(): number
}

/** Follows the store and remembers a number for each account that has changed something since the start. */
export function createChanges({ store }: { store: Store }): Changes {
  const revisions = new Map<string, number>()
  let began = 0
  let lastDeletion = 0
  let following: { stop(): void } | undefined
  const follower: Follower = {
    reset(_rows, revision) {
      began = revision
    },
    change(changes) {
      for (const { row, revision } of changes) {
        if (row === undefined) lastDeletion = revision
        else revisions.set(row.account, revision)
      }
    },
  }
  return {
    async start() {
      following = await store.follow(KINDS, follower)
    },
    stop: () => following?.stop(),
    of: (accountId) => Math.max(began, revisions.get(accountId) ?? 0),
    deletions: () => lastDeletion,
  }
}
