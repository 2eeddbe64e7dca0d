import { parseHostPort } from '../../base/values/hostport.ts'

/** The host that a request names. */
export interface RequestedHost {
  /** Normalized host name; routing uses it. */
  readonly host: string
  /** The host with the port the client sent, if any; the upstream gets it. */
  readonly authority: string
}

const MAX_CACHED = 1024
const cache = new Map<string, RequestedHost>()

/**
 * Parses the host that a request names; undefined when it is not valid. Most requests name one that was named before, and
 * get the same strings, whose hashes the tables of the edge then need not compute again (decision 251).
 */
export function parseRequestedHost(text: string): RequestedHost | undefined {
  const cached = cache.get(text)
  if (cached !== undefined) return cached
  // Copied, because a part of a head keeps the whole head in memory.
  const copy = Buffer.from(text).toString()
  const parsed = parseHostPort(copy)
  if (parsed === undefined) return undefined
  const { host, port } = parsed
  const requested = { host, authority: port === undefined ? host : `${host}:${port}` }
  if (cache.size === MAX_CACHED) cache.clear()
  cache.set(copy, requested)
  return requested
}
