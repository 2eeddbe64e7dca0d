import type { ByteStream } from '../../base/io/streams/stream.ts'
import { parseEndpointUrl } from '../../base/values/endpoint-url.ts'
import {
  type EndpointAddress,
  endpointAddress,
  internalAddress,
  isPublicPort,
  kubernetesAddress,
} from '../../naming/index.ts'
import type { Endpoint, StoredRecord } from '../../resources/index.ts'
import type { TunnelDirectory } from '../registry/tunnel-directory.ts'
import { type EndpointOptions, NoUpstream, type Tunnel } from '../tunnel.ts'

/** A cloud endpoint as it is stored. */
interface CloudEndpointRow {
  readonly id: string
  readonly account: string
  readonly createdAt: number
  readonly data: Readonly<StoredRecord<typeof Endpoint>>
  readonly secrets: Readonly<Record<string, string>> | undefined
}

/** The address of each binding but the public one. */
const ADDRESSES: Readonly<Record<string, typeof internalAddress>> = {
  internal: internalAddress,
  kubernetes: kubernetesAddress,
}

/** A tunnel without an agent: its traffic policy answers, on every node, for as long as it is stored. */
class CloudEndpoint implements Tunnel {
  readonly id: string
  readonly accountId: string
  readonly startedAt: number
  readonly region: string
  readonly description: string
  readonly metadata: string
  readonly address: EndpointAddress
  readonly poolingEnabled: boolean
  readonly poolingWeight: number
  readonly options: EndpointOptions
  readonly sessionId = ''
  readonly credentialId = ''
  readonly name = ''
  readonly forwardsTo = ''
  readonly forwardsProto = ''

  constructor({ id, account, createdAt, data, secrets }: CloudEndpointRow, region: string) {
    const { proto, host, port } = parseEndpointUrl(data.url)
    this.id = id
    this.accountId = account
    this.startedAt = createdAt
    this.region = region
    this.description = data.description
    this.metadata = data.metadata
    const createAddress = ADDRESSES[data.bindings[0] ?? 'public'] ?? endpointAddress
    this.address = createAddress(proto, host, port, account)
    this.poolingEnabled = data.pooling_enabled
    // Absent in rows of a release without weights.
    this.poolingWeight = data.pooling_weight ?? 1
    this.options = { proxyProto: 0, trafficPolicy: secrets?.traffic_policy ?? '' }
  }

  open(): ByteStream {
    throw new NoUpstream(`The cloud endpoint ${this.id} has no upstream.`)
  }
}

/** Keeps the cloud endpoints of the directory those that are stored, and tells which public ports they need. */
export function followCloudEndpoints(
  directory: TunnelDirectory,
  region: string,
  onPortsChanged: (ports: ReadonlySet<number>) => void,
) {
  const online = new Map<string, CloudEndpoint>()
  const put = (id: string, row: CloudEndpointRow | undefined) => {
    const previous = online.get(id)
    // The new one is added before the old one is removed, so that the address never goes unserved.
    if (row !== undefined) {
      const endpoint = new CloudEndpoint(row, region)
      directory.add(endpoint)
      online.set(id, endpoint)
    } else online.delete(id)
    if (previous !== undefined) directory.remove(previous)
  }
  const reportPorts = () => {
    const addresses = [...online.values()].map(({ address }) => address).filter(isPublicPort)
    onPortsChanged(new Set(addresses.map(({ port }) => port)))
  }
  return {
    reset(rows: readonly CloudEndpointRow[]): void {
      const stored = new Set(rows.map(({ id }) => id))
      for (const row of rows) put(row.id, row)
      for (const id of online.keys()) if (!stored.has(id)) put(id, undefined)
      reportPorts()
    },
    change(changes: readonly { readonly id: string; readonly row: CloudEndpointRow | undefined }[]): void {
      for (const { id, row } of changes) put(id, row)
      reportPorts()
    },
  }
}
