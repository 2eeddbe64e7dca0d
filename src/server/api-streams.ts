import type { Api, EdgeHost } from '../api/index.ts'
import { SocketStream } from '../base/io/sockets/socket-stream.ts'
import type { ByteStream } from '../base/io/streams/stream.ts'
import type { ClientInfo } from '../sessions/index.ts'

/** The management API of another node. */
interface ApiPeer {
  dialApi(header: { host: string; visitor: ClientInfo }): ByteStream
}

/** Opens connections of the edge to the management API: in this process if it runs here, otherwise on another node. */
export class ApiStreams {
  /** The API of this process while it serves. */
  local: Pick<Api, 'connect'> | undefined
  /** A node that runs the API, if this one does not. */
  findPeer: () => ApiPeer | undefined = () => undefined

  isAvailable(): boolean {
    return this.local !== undefined || this.findPeer() !== undefined
  }

  open(host: EdgeHost, client: ClientInfo): ByteStream {
    if (this.local !== undefined) return this.openLocal(host, client)
    const peer = this.findPeer()
    if (peer === undefined) throw new Error('No node runs the API.')
    return peer.dialApi({ host, visitor: client })
  }

  openLocal(host: EdgeHost, { clientAddress, serverAddress }: ClientInfo): ByteStream {
    if (this.local === undefined) throw new Error('The API is starting or stopping.')
    const [remoteAddress, remotePort] = splitAddress(clientAddress)
    const [localAddress, localPort] = splitAddress(serverAddress)
    const addresses = { remoteAddress, remotePort, localAddress, localPort }
    return new SocketStream(this.local.connect({ host, addresses }))
  }
}

/** Splits `ip:port`; the port is 0 where a proxy names none. */
function splitAddress(text: string): [address: string, port: number] {
  const colon = text.lastIndexOf(':')
  return [text.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), Number(text.slice(colon + 1))]
}
