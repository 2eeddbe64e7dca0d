import type { ServerResponse } from 'node:http'
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { requirePrincipal } from '../../api/index.ts'
import { fanOut } from '../../base/limits/fan-out.ts'
import type { Logger } from '../../base/process/log.ts'
import type { MaybePromise } from '../../base/values/maybe-promise.ts'
import type { LiveTotals, ScopeCounters, TrafficTotals } from '../page-data.ts'
import type { ChangeTracker } from './changes.ts'

/** The sources of the live traffic view. */
export interface LiveSources {
  readonly traffic: { totals(accountId: string): MaybePromise<TrafficTotals> }
  readonly scopes: {
    countsOf(
      accountId: string,
      edgeId: string,
    ): MaybePromise<readonly { scopeId: string; counters: ScopeCounters }[]>
    brokenIn(
      accountId: string,
      edgeId: string,
    ): MaybePromise<readonly { scopeId: string; module: string; reason: string }[]>
  }
  readonly online: {
    sessionsOf(accountId: string): readonly unknown[]
    tunnelsOf(accountId: string): readonly unknown[]
    revisionOf(accountId: string): number
  }
  /** Tracks changes of the account's configuration. */
  readonly changes: Pick<ChangeTracker, 'revisionOf' | 'lastDeletion'>
}

interface Viewer {
  readonly accountId: string
  /** The edge whose routes are included. */
  readonly edgeId: string | undefined
  readonly response: ServerResponse
  /** Seconds until the viewer must authenticate again. */
  remainingTicks: number
}

const SEND_INTERVAL_MS = 1000
// A stream ends after this many ticks, so that a signed-out viewer loses access; pages reconnect.
const MAX_TICKS = 60
const MAX_VIEWERS_PER_ACCOUNT = 32
// A viewer that does not read is dropped.
const MAX_BUFFERED_BYTES = 64 * 1024

/**
 * `GET /dashboard/api/live`: the account's traffic on this node as server-sent events, one per second. Events carry
 * totals since the start, so a lost event loses nothing; without viewers nothing is computed.
 */
export function mountLive(
  http: FastifyInstance,
  { authenticate, sources, log }: { authenticate: onRequestHookHandler; sources: LiveSources; log: Logger },
): void {
  const viewers = new Set<Viewer>()
  let timer: NodeJS.Timeout | undefined

  function drop(viewer: Viewer): void {
    viewers.delete(viewer)
    viewer.response.end()
    if (viewers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }

  async function send(viewer: Viewer): Promise<void> {
    try {
      const data = JSON.stringify(await renderState(viewer, sources))
      if (viewers.has(viewer)) viewer.response.write(`data: ${data}\n\n`)
    } catch (err) {
      log.error({ err }, 'live view failed')
    }
  }

  function tick(): void {
    fanOut(
      viewers,
      (viewer) => {
        viewer.remainingTicks -= 1
        if (viewer.remainingTicks <= 0 || viewer.response.writableLength > MAX_BUFFERED_BYTES) drop(viewer)
        else void send(viewer)
      },
      (err) => log.error({ err }, 'live view failed'),
    )
  }

  http.addHook('preClose', async () => {
    for (const viewer of [...viewers]) drop(viewer)
  })

  http.get<{ Querystring: { edge?: string } }>(
    '/dashboard/api/live',
    { onRequest: authenticate },
    (request, reply) => {
      const { accountId } = requirePrincipal(request)
      const accountViewers = [...viewers].filter((viewer) => viewer.accountId === accountId)
      if (accountViewers.length >= MAX_VIEWERS_PER_ACCOUNT) drop(accountViewers[0]!)
      reply.hijack()
      const response = reply.raw
      response.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        'x-accel-buffering': 'no',
      })
      const { edge } = request.query
      const viewer = {
        accountId,
        edgeId: typeof edge === 'string' ? edge : undefined,
        response,
        remainingTicks: MAX_TICKS,
      }
      viewers.add(viewer)
      response.on('error', () => {})
      response.on('close', () => drop(viewer))
      timer ??= setInterval(tick, SEND_INTERVAL_MS)
      void send(viewer)
    },
  )
}

async function renderState(
  { accountId, edgeId }: Viewer,
  { traffic, scopes, online, changes }: LiveSources,
): Promise<LiveTotals> {
  return {
    ...(await traffic.totals(accountId)),
    sessions: online.sessionsOf(accountId).length,
    tunnels: online.tunnelsOf(accountId).length,
    online: online.revisionOf(accountId),
    revision: changes.revisionOf(accountId),
    deletions: changes.lastDeletion(),
    ...(edgeId !== undefined && {
      scopes: (await scopes.countsOf(accountId, edgeId)).map(({ scopeId, counters }) => ({
        id: scopeId,
        ...counters,
      })),
      broken: (await scopes.brokenIn(accountId, edgeId)).map(({ scopeId, module, reason }) => ({
        id: scopeId,
        module,
        reason,
      })),
    }),
  }
}
