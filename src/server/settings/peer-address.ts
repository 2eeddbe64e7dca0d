import { requireFreePort } from '../../base/io/sockets/require-free-port.ts'
import { joinHostPort, parseHostPort } from '../../base/values/hostport.ts'
import type { ListenerAddress } from './setting-values.ts'
import type { ServerSettings } from './settings.ts'

/** Where a process accepts the links of its peers, and where they dial it if that is another address. */
export interface PeerAddress {
  readonly listen: ListenerAddress
  readonly advertise: string | undefined
}

/**
 * Resolves `--peer-addr`; undefined when there are no links. Beside a release that it replaces, which may have the port, a
 * process takes the next one after those of the workers: every second release has it.
 */
export async function resolvePeerAddress(
  { peerAddr, peerAdvertise: advertise, workers }: ServerSettings,
  hasPredecessor: boolean,
): Promise<PeerAddress | undefined> {
  if (peerAddr === undefined) return undefined
  if (peerAddr === 'auto') return { listen: { host: '127.0.0.1', port: 0 }, advertise }
  if (!hasPredecessor || (await isFree(peerAddr))) return { listen: peerAddr, advertise }
  const offset = workers > 1 ? workers + 1 : 1
  const { host, port = 0 } = (advertise && parseHostPort(advertise)) || {}
  return {
    listen: { host: peerAddr.host, port: peerAddr.port + offset },
    advertise: host && joinHostPort(host.replace(/^\[|\]$/g, ''), port + offset),
  }
}

async function isFree(address: ListenerAddress): Promise<boolean> {
  return requireFreePort(address).then(
    () => true,
    () => false,
  )
}
