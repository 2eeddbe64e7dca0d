import type { FastifyInstance, onRequestHookHandler } from 'fastify'

/** Facts about the platform that pages need to show real addresses and commands. */
export interface PlatformInfo {
  readonly domain: string
  /** Public base URL; null when the listener is off. */
  readonly http_url: string | null
  readonly https_url: string | null
  readonly tcp_host: string
  /** Where agents and SSH clients connect; null when the listener is off. */
  readonly agent_addr: string | null
  readonly ssh_addr: string | null
  /** Whether certificates are obtained automatically. */
  readonly acme: boolean
  /** The private CA that signs certificates without a public one. */
  readonly ca_pem: string
}

/** `GET /dashboard/api/platform`: these facts, for authenticated callers. */
export function mountPlatform(
  http: FastifyInstance,
  { authenticate, facts }: { authenticate: onRequestHookHandler; facts: () => PlatformInfo },
): void {
  http.get('/dashboard/api/platform', { onRequest: authenticate }, async () => facts())
}
