import { lookup as systemLookup } from 'node:dns'
import { connect, isIP, type LookupFunction, Socket } from 'node:net'
import { parseAddress } from '../cidr.ts'
import { compileAllowList } from './allow-list.ts'
import { isOwnAddress, notPublicMessage } from './outbound.ts'
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
  const allowList = compileAllowList(allow)
  const canDial = (address: string, port: number) =>
    allowList.allowsAddress(address, port) ||
    (isPublicAddress(address) &&
      !isOwnAddress(address) &&
      !own.some((ownAddress) => sameAddress(ownAddress, address)))

  return ({ host, port }) => {
    const options = { host, port, allowHalfOpen: true, noDelay: true }
    const hostAllowed = allowList.allowsHost(host, port)
    if (isIP(host) > 0)
      return canDial(host, port) ? connect(options) : createFailedSocket(new Error(notPublicMessage(host)))
    const guardedLookup: LookupFunction = (name, lookupOptions, done) => {
      lookup(name, { ...lookupOptions, all: true }, (error, addresses) => {
        const hasForbiddenAddress = !hostAllowed && addresses?.some(({ address }) => !canDial(address, port))
        if (error !== null) done(error, '')
        else if (hasForbiddenAddress) done(new Error(notPublicMessage(name)), '')
        else if (lookupOptions.all) done(null, addresses)
        else done(null, addresses[0]!.address, addresses[0]!.family)
      })
    }
    return connect({ ...options, lookup: guardedLookup })
  }
}

function sameAddress(one: string, other: string): boolean {
  return parseAddress(one)?.value === parseAddress(other)?.value
}

/** A socket that never gets anywhere, for reasons it tells as any other would. */
function createFailedSocket(error: Error): Socket {
  const socket = new Socket()
  // Not at once: whoever dials is about to listen.
  setImmediate(() => socket.destroy(error))
  return socket
}
