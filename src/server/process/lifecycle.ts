import type { CleanupStack } from '../../base/process/cleanup-stack.ts'
import { failpoint } from '../../base/process/failpoint.ts'
import type { Follower, PagedFollower, Store } from '../../store/index.ts'

/** A component that starts and stops with the server. */
export interface Lifecycle {
  start(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts the components in order; they stop in the reverse order. Each is registered for stopping before it starts: a
 * start that fails halfway may already have opened a listener.
 */
export async function startInOrder(cleanup: CleanupStack, components: readonly Lifecycle[]): Promise<void> {
  for (const component of components) {
    cleanup.defer(() => component.stop())
    await component.start()
    failpoint('server.start')
  }
}

/** A component that is used from the beginning and only has to be stopped. */
export function onStop(stop: () => unknown): Lifecycle {
  return { start: async () => {}, stop: async () => void (await stop()) }
}

/** Keeps a follower up to date with the rows of these kinds. */
export function follow<K extends string>(
  store: Store,
  kinds: readonly K[],
  follower: Follower<K> | PagedFollower<K>,
): Lifecycle {
  let following: { stop(): void } | undefined
  return {
    start: async () => {
      following = await store.follow(kinds, follower)
    },
    stop: async () => following?.stop(),
  }
}
