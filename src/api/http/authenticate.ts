import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify'
import type { Auth, Principal } from '../../auth/index.ts'
import { clientKey } from '../../base/values/client-key.ts'
import type { Clock } from '../../base/values/clock.ts'
import { plainAddress } from '../../base/values/ip-rules.ts'
import type { BrowserAuth } from '../config.ts'
import { problem } from '../problems.ts'
import { createRateLimiter } from './rate-limit.ts'

// The limit protects the server's CPU, not the tokens: those have 256 random bits.
const FAILED_AUTH_LIMIT = { perMinute: 120, burst: 1000 }
// A connection that repeats its Authorization header is not authenticated again within this time.
const CALLER_CACHE_TTL_MS = 1000
const BEARER = /^Bearer +([^\s]+)$/i

/** The caller of a request that the authentication hook has admitted. */
export function requirePrincipal({ principal, method, url }: FastifyRequest): Principal {
  if (principal === undefined) throw new Error(`${method} ${url} has no authentication hook`)
  return principal
}

/** Creates the hook that authenticates a request, then applies IP restrictions and the rate limit. */
export function createAuthenticate({
  auth,
  browserAuth,
  admits,
  perMinute,
  clock,
}: {
  auth: Auth
  browserAuth: BrowserAuth | undefined
  /** Whether the account's IP restrictions allow this address to use the API. */
  admits: (accountId: string, address: string) => boolean
  /** Calls per account; 0 disables the limit. */
  perMinute: number
  clock: Clock
}): onRequestHookHandler {
  const callLimit = perMinute > 0 ? createRateLimiter({ perMinute, burst: perMinute, clock }) : undefined
  const failureLimit = createRateLimiter({ ...FAILED_AUTH_LIMIT, clock })

  function requireQuota(reply: FastifyReply, seconds: number): void {
    if (seconds === 0) return
    reply.header('retry-after', String(seconds))
    throw problem('too_many_requests', seconds)
  }

  async function authenticateKey(
    header: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<Principal> {
    const token = BEARER.exec(header)?.[1]
    if (token === undefined) throw problem('bad_authorization')
    const principal = await auth.apiKey(token)
    if (principal !== undefined) return principal
    requireQuota(reply, failureLimit.take(clientKey(request.ip)))
    throw problem((await auth.authtoken(token)) === undefined ? 'unknown_key' : 'authtoken_as_key')
  }

  function admit(request: FastifyRequest, reply: FastifyReply, principal: Principal): void {
    request.principal = principal
    if (!principal.active) throw problem('inactive')
    const address = plainAddress(request.ip)
    if (!admits(principal.accountId, address)) throw problem('address_refused', address)
    if (callLimit !== undefined) requireQuota(reply, callLimit.take(principal.accountId))
  }

  const callerCache = new WeakMap<
    Socket,
    { header: string; principal: Principal; expiresAt: number; generation: number }
  >()

  return (request, reply, done) => {
    const { socket } = request.raw
    const header = request.headers.authorization
    if (header === undefined) {
      if (browserAuth === undefined) return done(problem('no_key'))
      // Never cached: signing out and deactivation take effect at once.
      browserAuth
        .authenticate(request)
        .then((principal) => admit(request, reply, principal))
        .then(() => done(), done)
      return
    }
    const cached = callerCache.get(socket)
    const isCached =
      cached !== undefined &&
      cached.header === header &&
      cached.generation === auth.generation() &&
      cached.expiresAt > clock.monotonic()
    if (isCached) {
      try {
        admit(request, reply, cached.principal)
      } catch (error) {
        return done(error as Error)
      }
      return done()
    }
    const generation = auth.generation()
    authenticateKey(header, request, reply)
      .then((principal) => {
        callerCache.set(socket, {
          header,
          principal,
          expiresAt: clock.monotonic() + CALLER_CACHE_TTL_MS,
          generation,
        })
        admit(request, reply, principal)
      })
      .then(() => done(), done)
  }
}
