/** The logged fields of a finished request, a subset of the edge's event. */
export interface LoggedRequest {
  readonly accountId: string
  /** The tunnel or edge. */
  readonly entryId: string
  /** The tunnel that served the request; empty when the edge responded itself. */
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
 * Passes finished requests to the terminals of SSH clients. An observer of the edge; without watchers it costs one lookup
 * in an empty map.
 */
export class RequestLog {
  readonly #byTunnel = new Map<string, RequestListener>()
  readonly #watched = new Map<string, number>()

  /** Calls the listener for every request of the tunnel; returns the function that stops it. */
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

/** The tunnel whose log the request belongs to; a response of the edge for a tunnel's endpoint counts as the tunnel's. */
export function loggedTunnelId({ tunnelId, entryId }: Pick<LoggedRequest, 'tunnelId' | 'entryId'>): string {
  return tunnelId === '' ? entryId : tunnelId
}
