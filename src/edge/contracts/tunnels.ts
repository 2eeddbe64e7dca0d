import { joinHostPort } from '../../base/values/hostport.ts'
import type { ClientInfo } from '../../sessions/index.ts'
import type { ClientConnection } from './connection.ts'

export type {
  ClientInfo,
  EndpointOptions,
  InternalAddress,
  PublicPorts,
  Tunnel,
  TunnelLookup,
  TunnelPool,
} from '../../sessions/index.ts'
export { NoUpstream, TunnelBusy } from '../../sessions/index.ts'

/** What a tunnel learns of the client that a stream is opened for. */
export function clientInfoOf(
  connection: ClientConnection,
  proto: ClientInfo['proto'],
  via: ClientInfo['via'],
  passthroughTls: boolean,
): ClientInfo {
  return {
    clientAddress: joinHostPort(connection.remoteAddress, connection.remotePort),
    serverAddress: joinHostPort(connection.localAddress, connection.localPort),
    proto,
    via,
    passthroughTls,
  }
}
