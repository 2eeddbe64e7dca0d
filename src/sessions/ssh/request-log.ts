/** The logged fields of a finished request, a subset of the edge's event. */
export interface LoggedRequest {
  readonly accountId: string
  /** The tunnel or edge. */
  readonly hostId: string
  /** The tunnel that served the request; empty when the edge responded itself. */
  readonly tunnelId: string
  readonly connection: { readonly remoteAddress: string }
  readonly startedAt: number
  readonly endedAt: number
  readonly method: string
  readonly target: string
  readonly status: number
}

/** What the workers of a machine tell each other, since a visitor may come to another worker than the SSH client. */
export type RequestLogUpdate =
  | { readonly watched: WatchedTunnel }
  | { readonly unwatched: WatchedTunnel }
  | { readonly request: LoggedRequest }

interface WatchedTunnel {
  readonly accountId: string
  readonly tunnelId: string
}

type RequestListener = (request: LoggedRequest) => void

/**
 * Passes finished requests to the terminals of SSH clients. An observer of the edge; without watchers it costs one lookup
 * in an empty map.
 */
export class RequestLog {
  readonly #byTunnel = new Map<string, { readonly accountId: string; readonly listener: RequestListener }>()
  /** Tunnels that other workers watch, with the account and the number of the worker. */
  readonly #remoteWatchers = new Map<string, { readonly accountId: string; readonly worker: number }>()
  #tell: (update: RequestLogUpdate) => void = () => {}
  readonly #watched = new Map<string, number>()

  /** Calls the listener for every request of the tunnel; returns the function that stops it. */
  watch(accountId: string, tunnelId: string, listener: RequestListener): () => void {
    this.#byTunnel.set(tunnelId, { accountId, listener })
    this.#count(accountId, 1)
    this.#tell({ watched: { accountId, tunnelId } })
    let watching = true
    return () => {
      if (!watching) return
      watching = false
      this.#byTunnel.delete(tunnelId)
      this.#count(accountId, -1)
      this.#tell({ unwatched: { accountId, tunnelId } })
    }
  }

  /** Exchanges requests with the other workers of the machine. */
  share(tell: (update: RequestLogUpdate) => void): void {
    this.#tell = tell
  }

  /** Takes what another worker tells. */
  receive(worker: number, update: RequestLogUpdate): void {
    if ('request' in update) this.#byTunnel.get(loggedTunnelId(update.request))?.listener(update.request)
    else if ('watched' in update) {
      const { accountId, tunnelId } = update.watched
      this.#forget(tunnelId)
      this.#remoteWatchers.set(tunnelId, { accountId, worker })
      this.#count(accountId, 1)
    } else this.#forget(update.unwatched.tunnelId)
  }

  /** A worker has started, perhaps in place of one that crashed: it does not know what is watched. */
  onWorkerStarted(worker: number): void {
    for (const [tunnelId, watched] of this.#remoteWatchers)
      if (watched.worker === worker) this.#forget(tunnelId)
    for (const [tunnelId, { accountId }] of this.#byTunnel) this.#tell({ watched: { accountId, tunnelId } })
  }

  wantsRequests(accountId: string): boolean {
    return this.#watched.size > 0 && this.#watched.has(accountId)
  }

  onRequest(request: LoggedRequest): void {
    const id = loggedTunnelId(request)
    this.#byTunnel.get(id)?.listener(request)
    if (this.#remoteWatchers.has(id)) this.#tell({ request: toLoggedRequest(request) })
  }

  wantsConnections(): boolean {
    return false
  }

  onConnection(): void {}

  #forget(tunnelId: string): void {
    const watched = this.#remoteWatchers.get(tunnelId)
    if (watched === undefined) return
    this.#remoteWatchers.delete(tunnelId)
    this.#count(watched.accountId, -1)
  }

  #count(accountId: string, change: number): void {
    const count = (this.#watched.get(accountId) ?? 0) + change
    if (count === 0) this.#watched.delete(accountId)
    else this.#watched.set(accountId, count)
  }
}

/** The tunnel whose log the request belongs to; a response of the edge for a tunnel's endpoint counts as the tunnel's. */
export function loggedTunnelId({ tunnelId, hostId }: Pick<LoggedRequest, 'tunnelId' | 'hostId'>): string {
  return tunnelId === '' ? hostId : tunnelId
}

/** Without the other fields of the edge's event. */
function toLoggedRequest(request: LoggedRequest): LoggedRequest {
  const { accountId, hostId, tunnelId, connection, startedAt, endedAt, method, target, status } = request
  const { remoteAddress } = connection
  return {
    ...{ accountId, hostId, tunnelId, connection: { remoteAddress } },
    ...{ startedAt, endedAt, method, target, status },
  }
}
