import type { FastifyRequest } from 'fastify'
import type { Logger } from '../../base/process/log.ts'
import type { Clock } from '../../base/values/clock.ts'
import type { Store } from '../../store/index.ts'
import { type ApiRoute, actionOf } from '../routes.ts'
import type { createApiMetrics } from './metrics.ts'
import { createRateLimiter } from './rate-limit.ts'

// A caller that keeps failing must not fill the disk with audit records.
const AUDITED_REJECTIONS = { perMinute: 60, burst: 120 }

/** Records the status of a call. */
export type RecordCall = (request: FastifyRequest, status: number) => void

/** Counts, times and logs every call, and audits rejected changes. */
export function createCallRecorder({
  store,
  metrics,
  clock,
  log,
}: {
  store: Store
  metrics: ReturnType<typeof createApiMetrics>
  clock: Clock
  log: Logger
}): (operation: ApiRoute) => RecordCall {
  const auditLimit = createRateLimiter({ ...AUDITED_REJECTIONS, clock })

  return (operation) => {
    const observe = metrics.forOperation(operation.id)
    return (request, status) => {
      const milliseconds = clock.monotonic() - request.startedAt
      observe(status, milliseconds)
      const { principal } = request
      const mutates = request.method !== 'GET' && request.method !== 'HEAD'
      const level = mutates || status >= 500 ? 'info' : 'debug'
      if (log.isLevelEnabled(level))
        log[level](
          {
            operation: operation.id,
            id: request.id,
            status,
            ms: Math.round(milliseconds),
            account: principal?.accountId,
            key: principal?.credentialId,
            ip: request.ip,
          },
          'api call',
        )
      if (!mutates || principal === undefined || status < 400 || status >= 500) return
      if (auditLimit.take(principal.accountId) > 0) return
      const { id, edge_id, subscription_id } = request.params as Record<string, string | undefined>
      store
        .write({}, (tx) =>
          tx.audit({
            account: principal.accountId,
            principal: principal.ownerId,
            credential: principal.credentialId,
            source: request.ip,
            requestId: request.id,
            action: actionOf(operation),
            kind: operation.tag,
            object: sanitizeId(id ?? subscription_id ?? edge_id),
            outcome: 'refused',
            detail: `status ${status}${principal.channel === undefined ? '' : `, ${principal.channel}`}`,
          }),
        )
        .catch((error) =>
          log.warn({ err: error, id: request.id }, 'audit record of a rejected call not written'),
        )
    }
  }
}

/** A path parameter can hold anything; the log keeps what could have been an id. */
function sanitizeId(id: string | undefined): string | undefined {
  return id?.replace(/[^\x21-\x7e]/g, '?').slice(0, 64)
}
