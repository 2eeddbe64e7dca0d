import { lookup as systemLookup } from 'node:dns'
import { connect, isIP, type LookupFunction, Socket } from 'node:net'
import { parseAddress } from '../cidr.ts'
import { compileAllowList } from './allow-list.ts'
import { isOwnAddress, notPublic } from './outbound.ts'
import { isPublicAddress } from './public-address.ts'

/** Opens a socket to an address that somebody configured; it fails as a socket does when the address is not allowed. */
export type Dial = (to: { host: string; port: number }) => Socket

/**
 * Dials public addresses, and what the operator lists beside them. A name is resolved once and every address it has must
 * be allowed, so that a name cannot lead inside (P45). The platform's own addresses are not dialled even when they belong
 * to a translator before it: traffic would go in circles. Throws a sentence for a list that cannot be read.
 */
export function createDial({
  allow = [],
  own = [],
  lookup = systemLookup,
}: {
  allow?: string[]
  own?: readonly string[]
  lookup?: typeof systemLookup
} = {}): Dial {
  const listed = compileAllowList(allow)
  const mayDial = (address: string, port: number) =>
    listed.address(address, port) ||
    (isPublicAddress(address) && !isOwnAddress(address) && !own.some((known) => sameAddress(known, address)))

  return ({ host, port }) => {
    const options = { host, port, allowHalfOpen: true, noDelay: true }
    const byName = listed.host(host, port)
    if (isIP(host) > 0) return mayDial(host, port) ? connect(options) : failing(new Error(notPublic(host)))
    const guarded: LookupFunction = (name, lookupOptions, done) => {
      lookup(name, { ...lookupOptions, all: true }, (error, addresses) => {
        const inside = !byName && addresses?.some(({ address }) => !mayDial(address, port))
        if (error !== null) done(error, '')
        else if (inside) done(new Error(notPublic(name)), '')
        else if (lookupOptions.all) done(null, addresses)
        else done(null, addresses[0]!.address, addresses[0]!.family)
      })
    }
    return connect({ ...options, lookup: guarded })
  }
}

function sameAddress(one: string, other: string): boolean {
  return parseAddress(one)?.value === parseAddress(other)?.value
}

/** A socket that never gets anywhere, for reasons it tells as any other would. */
function failing(why: Error): Socket {
  const socket = new Socket()
  // Not at once: whoever dials is about to listen.
  setImmediate(() => socket.destroy(why))
  return socket
}
