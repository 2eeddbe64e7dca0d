import { lookup as systemLookup } from 'node:dns'
import { connect, isIP, type LookupFunction, Socket } from 'node:net'
import { parseAddress } from '../values/cidr.ts'
import { compileAllowList } from './allow-list.ts'
import { isOwnAddress, notPublicMessage } from './outbound.ts'
import { isPublicAddress } from './public-address.ts'

/** Opens a socket to a configured address. When the address is not allowed, the socket fails like any other. */
export type Dial = (address: { host: string; port: number }) => Socket

/**
 * Creates a dialler for public addresses and those the operator allows. It resolves a name once and requires every
 * address to be allowed, so that a name cannot lead inside (P45). It never dials the platform's own addresses, even those
 * of a NAT in front of it: traffic would loop. Throws a sentence for an invalid allow-list.
 */
export function createDial({
  allow = [],
  ownAddresses = [],
  lookup = systemLookup,
}: {
  allow?: string[]
  ownAddresses?: readonly string[]
  lookup?: typeof systemLookup
} = {}): Dial {
  const allowList = compileAllowList(allow)
  const canDial = (address: string, port: number) =>
    allowList.allowsAddress(address, port) ||
    (isPublicAddress(address) &&
      !isOwnAddress(address) &&
      !ownAddresses.some((ownAddress) => sameAddress(ownAddress, address)))

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

/** A socket that reports the error the way a failed connection does. */
function createFailedSocket(error: Error): Socket {
  const socket = new Socket()
  // Deferred, so that the caller can add its listeners first.
  setImmediate(() => socket.destroy(error))
  return socket
}
