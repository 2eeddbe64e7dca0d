import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import type { PlatformInfo } from '../page-data.ts'

/** `GET /dashboard/api/platform`: these facts, for authenticated callers. */
export function mountPlatform(
  http: FastifyInstance,
  { authenticate, facts }: { authenticate: onRequestHookHandler; facts: () => Promise<PlatformInfo> },
): void {
  http.get('/dashboard/api/platform', { onRequest: authenticate }, async () => facts())
}
