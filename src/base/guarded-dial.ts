import { lookup as systemLookup } from 'node:dns'
import { connect, isIP, type LookupFunction, Socket } from 'node:net'
import { isOwnAddress } from './outbound.ts'
import { compileAllowList } from './outbound-allow.ts'
import { isPublicAddress } from './public-address.ts'

/** Opens a socket to an address that somebody configured; it fails as a socket does when the address is not allowed. */
export type Dial = (to: { host: string; port: number }) => Socket

/**
 * Dials public addresses, and what the operator lists beside them. A name is resolved once and every address it has must
 * be allowed, so that a name cannot lead inside (P45). Throws a sentence for a list that cannot be read.
 */
export function createDial({ allow = [] }: { allow?: string[] } = {}): Dial {
  const listed = compileAllowList(allow)
  const mayDial = (address: string, port: number) =>
    listed.address(address, port) || (isPublicAddress(address) && !isOwnAddress(address))
  const refused = (host: string, address: string) =>
    new Error(
      `${host} leads to ${address}, which is not on the public Internet. The operator can allow it with --outbound-allow.`,
    )

  return ({ host, port }) => {
    const options = { host, port, allowHalfOpen: true, noDelay: true }
    const byName = listed.host(host, port)
    if (isIP(host) > 0) return mayDial(host, port) ? connect(options) : failing(refused(host, host))
    const guarded: LookupFunction = (name, lookupOptions, done) => {
      systemLookup(name, { ...lookupOptions, all: true }, (error, addresses) => {
        const inside = byName ? undefined : addresses?.find(({ address }) => !mayDial(address, port))
        if (error !== null) done(error, '')
        else if (inside !== undefined) done(refused(name, inside.address), '')
        else if (lookupOptions.all) done(null, addresses)
        else done(null, addresses[0]!.address, addresses[0]!.family)
      })
    }
    return connect({ ...options, lookup: guarded })
  }
}

/** A socket that never gets anywhere, for reasons it tells as any other would. */
function failing(why: Error): Socket {
  const socket = new Socket()
  // Not at once: whoever dials is about to listen.
  setImmediate(() => socket.destroy(why))
  return socket
}
