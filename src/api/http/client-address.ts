import type { FastifyRequest } from 'fastify'
import { CLIENT_FIELDS, findClient, type TrustedProxies } from '../../base/http/forwarded.ts'
import { plainAddress } from '../../base/values/ip-rules.ts'
import { type Problem, problem } from '../problems.ts'

/**
 * Sets `request.ip` to the client's address when a trusted proxy sent the request. Fastify has an option for it that
 * knows one header, takes any text for an address, and believes `X-Forwarded-Host` too.
 */
export function setClientAddress(request: FastifyRequest, proxies: TrustedProxies): Problem | undefined {
  const peer = plainAddress(request.ip)
  if (!proxies.isTrusted(peer)) return undefined
  const { headersDistinct } = request.raw
  const fields = Object.fromEntries(
    CLIENT_FIELDS.flatMap((name) => {
      const values = headersDistinct[name]
      return values === undefined ? [] : [[name, values.join(',')]]
    }),
  )
  const client = findClient(peer, fields, proxies)
  if (client === undefined)
    return problem('bad_request', `the ${proxies.field} header of the proxy at ${peer} cannot be read.`)
  Object.defineProperty(request, 'ip', { value: client.address })
  return undefined
}
