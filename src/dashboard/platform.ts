import type { FastifyInstance, onRequestHookHandler } from 'fastify'

/** What pages have to know of the platform to name addresses and commands as they really are. */
export interface PlatformInfo {
  readonly domain: string
  /** Where visitors find it; null when the listener is off. */
  readonly http_url: string | null
  readonly https_url: string | null
  readonly tcp_host: string
  /** Where agents and SSH clients connect; null when the listener is off. */
  readonly agent_addr: string | null
  readonly ssh_addr: string | null
  /** Whether certificates are obtained automatically. */
  readonly acme: boolean
  /** The private authority behind certificates that were not obtained elsewhere. */
  readonly ca_pem: string
}

/** `GET /dashboard/api/platform`: the facts above, for those who are signed in. */
export function mountPlatform(
  http: FastifyInstance,
  { authenticate, facts }: { authenticate: onRequestHookHandler; facts: () => PlatformInfo },
): void {
  http.get('/dashboard/api/platform', { onRequest: authenticate }, async () => facts())
}
