import type { LegView } from './legs.ts'

/** The legs that end at other nodes, as those nodes report them. */
export class RemoteLegs {
  /** By node, then by session. */
  readonly #byNode = new Map<string, Map<string, readonly LegView[]>>()

  /** Replaces the legs of the session at the node. */
  report(node: string, sessionId: string, legs: readonly LegView[]): void {
    const sessions = this.#byNode.get(node) ?? new Map<string, readonly LegView[]>()
    this.#byNode.set(node, sessions)
    if (legs.length > 0) sessions.set(sessionId, legs)
    else sessions.delete(sessionId)
  }

  /** The link to the node is down. Returns the sessions that had legs there. */
  forget(node: string): readonly string[] {
    const sessions = [...(this.#byNode.get(node)?.keys() ?? [])]
    this.#byNode.delete(node)
    return sessions
  }

  /** The nodes at which the session has legs. */
  nodesOf(sessionId: string): string[] {
    return [...this.#byNode].filter(([, sessions]) => sessions.has(sessionId)).map(([node]) => node)
  }

  legsOf(sessionId: string): LegView[] {
    return [...this.#byNode.values()].flatMap((sessions) => sessions.get(sessionId) ?? [])
  }
}
