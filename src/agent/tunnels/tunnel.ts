import { randomBytes } from 'node:crypto'
import type { Clock } from '../../base/values/clock.ts'
import type { Forwarder, UpstreamRoute } from '../forward/forwarder.ts'
import { Meter } from '../metrics.ts'
import type { AgentTunnelSpec, BindSpec } from '../spec/spec.ts'

/** The server's response to a bind; sent back on a rebind so that the tunnel keeps its address. */
export interface Binding {
  id: string
  token: string
  url: string
  proto: string
}

/** A running tunnel: a public address or label set, and the route to its upstream. */
export class AgentTunnel {
  /** 32 hexadecimal digits, the `ID` in the local API. */
  readonly id: string
  readonly name: string
  readonly spec: AgentTunnelSpec
  /** Whether its requests are captured. */
  readonly inspected: boolean
  /** The bind of the spec this tunnel represents; undefined for labelled tunnels. */
  readonly bind: BindSpec | undefined
  readonly connections: Meter
  readonly requests: Meter
  readonly route: UpstreamRoute
  binding: Binding
  /** False while the server rejects the rebind after a reconnect. */
  online = true

  constructor(
    name: string,
    spec: AgentTunnelSpec,
    bind: BindSpec | undefined,
    binding: Binding,
    dependencies: { forwarder: Forwarder; clock: Clock },
    id: string = randomBytes(16).toString('hex'),
  ) {
    this.id = id
    this.name = name
    this.spec = spec
    this.inspected = dependencies.forwarder.inspects(spec)
    this.bind = bind
    this.binding = binding
    this.connections = new Meter(dependencies.clock)
    this.requests = new Meter(dependencies.clock)
    this.route = dependencies.forwarder.createRoute(this)
  }

  /** The public URL; empty for labelled tunnels. */
  get publicUrl(): string {
    return this.binding.url
  }

  /** The scheme of the public URL, as the local API shows it. */
  get proto(): string {
    return this.binding.proto
  }
}
