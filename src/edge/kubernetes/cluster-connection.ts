import type { PodSource } from '../../policy/index.ts'
import type { ClientConnection, ClusterService, TlsInfo } from '../contracts/connection.ts'
import type { EdgeRuntime } from '../contracts/runtime.ts'
import type { TlsPolicy } from '../contracts/tls-policy.ts'
import { SocketConnection } from '../listeners/socket-connection.ts'
import type { ClusterClient } from '../listeners/tls.ts'

/** A connection of a client in a Kubernetes cluster. Its address is that of the cluster's forwarder. */
export class ClusterConnection extends SocketConnection {
  readonly service: ClusterService
  readonly pod: PodSource | undefined

  /** `tls` is the client's own, inside that of its cluster. */
  constructor(
    { clock }: EdgeRuntime,
    { addresses, socket, startedAt }: ClusterClient,
    service: ClusterService,
    pod: PodSource | undefined,
    tls?: { readonly tlsPolicy: TlsPolicy; readonly info: TlsInfo },
  ) {
    const scheme: ClientConnection['scheme'] = service.proto
    // A forwarder passes on what its clients send, forged forwarding fields included, so it is never a trusted proxy.
    super(addresses, scheme, { clock, trustedProxies: undefined }, socket, tls, startedAt)
    this.service = service
    this.pod = pod
  }
}
