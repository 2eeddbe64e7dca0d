/** What the log tells of a finished request; the edge's own event has all of it. */
export interface LoggedRequest {
  readonly accountId: string
  /** The tunnel, or the edge. */
  readonly entryId: string
  /** The tunnel that was asked, empty when the edge answered by itself. */
  readonly tunnelId: string
  readonly connection: { readonly remoteAddress: string }
  readonly startedAt: number
  readonly endedAt: number
  readonly method: string
  readonly target: string
  readonly status: number
}

type RequestListener = (request: LoggedRequest) => void

/**
 * Tells the terminals of SSH clients of the requests their tunnels serve. Stands in the edge as an observer; while
 * nobody watches, all it costs is the look into an empty map.
 */
export class RequestLog {
  readonly #byTunnel = new Map<string, RequestListener>()
  readonly #watched = new Map<string, number>()

  /** Calls back for every request of the tunnel until the answer is called. */
  watch(accountId: string, tunnelId: string, listener: RequestListener): () => void {
    this.#byTunnel.set(tunnelId, listener)
    this.#count(accountId, 1)
    let watching = true
    return () => {
      if (!watching) return
      watching = false
      this.#byTunnel.delete(tunnelId)
      this.#count(accountId, -1)
    }
  }

  wantsRequests(accountId: string): boolean {
    return this.#watched.size > 0 && this.#watched.has(accountId)
  }

  onRequest(request: LoggedRequest): void {
    this.#byTunnel.get(loggedTunnelId(request))?.(request)
  }

  wantsConnections(): boolean {
    return false
  }

  onConnection(): void {}

  #count(accountId: string, change: number): void {
    const count = (this.#watched.get(accountId) ?? 0) + change
    if (count === 0) this.#watched.delete(accountId)
    else this.#watched.set(accountId, count)
  }
}

/** Whose log the request belongs in: what the edge answers in the name of a tunnel is its as well. */
export function loggedTunnelId({ tunnelId, entryId }: Pick<LoggedRequest, 'tunnelId' | 'entryId'>): string {
  return tunnelId === '' ? entryId : tunnelId
}
