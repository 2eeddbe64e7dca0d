import { randomBytes } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import type { Forwarder, Route } from '../forward/forwarder.ts'
import { Meter } from '../metrics.ts'
import type { BindSpec, TunnelSpec } from './spec.ts'

/** What the server gave for a bind; sent back when the tunnel is bound again, so that it keeps its name. */
export interface Binding {
  id: string
  token: string
  url: string
  proto: string
}

/** One running tunnel: a public address or label set, and the way to its upstream. */
export class Tunnel {
  /** 32 hexadecimal digits, the `ID` of the local API. */
  readonly id: string
  readonly name: string
  readonly spec: TunnelSpec
  /** Whether its requests are kept. */
  readonly inspected: boolean
  /** Which of the spec's binds this is; undefined for labelled tunnels. */
  readonly bind: BindSpec | undefined
  readonly connections: Meter
  readonly requests: Meter
  readonly route: Route
  binding: Binding
  /** False while the server refuses to bind it again after a reconnect. */
  online = true

  constructor(
    name: string,
    spec: TunnelSpec,
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
    this.route = dependencies.forwarder.route(this)
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
