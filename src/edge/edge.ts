import type { AddressInfo, Server } from 'node:net'
import { type Clock, systemClock } from '../base/clock.ts'
import { Deadlines } from '../base/deadlines.ts'
import type { Logger } from '../base/log.ts'
import { Turn } from '../base/turn.ts'
import type { Core } from './core.ts'
import { Endpoints } from './endpoint.ts'
import { createHttpListener } from './http-listener.ts'
import { defaultLimits, type LimitSettings, limitsInTicks } from './limits.ts'
import type { Observer } from './observe.ts'
import type { Table } from './table.ts'
import type { TunnelLookup } from './tunnels.ts'

/** Where to listen; `false` switches a listener off, port 0 means any free one. */
export interface ListenAddress {
  host: string
  port: number
}

export interface EdgeConfig {
  http: ListenAddress | false
  /** What visitors see when it is not the bound port, behind a NAT or balancer. */
  publicHttpPort?: number
  publicHttpsPort?: number
  maxConnections?: number
  limits?: Partial<LimitSettings>
  /** Length of a tick of the one timer, in milliseconds. */
  tick?: number
}

export interface EdgeDependencies {
  tunnels: TunnelLookup
  config: EdgeConfig
  log: Logger
  observe?: Observer
  clock?: Clock
}

/** The addresses really bound. */
export interface EdgeAddresses {
  http: AddressInfo | undefined
}

/** The public side: listeners and what they do with visitors. */
export interface Edge {
  readonly addresses: EdgeAddresses
  start(): Promise<void>
  /** Takes no new visitors, lets those under way finish, and ends the rest when the time is over (P9). */
  stop(): Promise<void>
}

export function createEdge({ tunnels, config, log, observe, clock = systemClock }: EdgeDependencies): Edge {
  const deadlines = new Deadlines(clock, config.tick)
  const settings = { ...defaultLimits, ...config.limits }
  const core: Core = {
    turn: new Turn(),
    deadlines,
    clock,
    log,
    limits: limitsInTicks(settings, deadlines),
    live: new Set(),
    idle: new Set(),
    observer: observe,
    publicHttpsPort: config.publicHttpsPort ?? 443,
    table: { http: () => undefined, tls: () => undefined, tcp: () => undefined },
    draining: false,
  }
  const endpoints = new Endpoints(core)
  const table: Table = {
    http: (scheme, host) => {
      const tunnel = tunnels.find(scheme, host)
      return tunnel === undefined ? undefined : endpoints.http(tunnel)
    },
    tls: () => undefined,
    tcp: () => undefined,
  }
  core.table = table
  const addresses: EdgeAddresses = { http: undefined }
  const servers: Server[] = []

  return {
    addresses,
    async start() {
      deadlines.start()
      if (config.http !== false) {
        const server = createHttpListener(core, config.maxConnections ?? 16_384)
        servers.push(server)
        addresses.http = await listen(server, config.http)
      }
    },
    async stop() {
      core.draining = true
      const closed = servers.map((server) => new Promise<void>((resolve) => server.close(() => resolve())))
      for (const live of [...core.live]) live.drain()
      const timer = setTimeout(() => {
        for (const live of [...core.live]) live.destroy()
      }, settings.drain)
      await Promise.all(closed)
      clearTimeout(timer)
      for (const upstream of [...core.idle]) upstream.close()
      deadlines.stop()
    },
  }
}

function listen(server: Server, { host, port }: ListenAddress): Promise<AddressInfo> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      server.on('error', () => {})
      resolve(server.address() as AddressInfo)
    })
  })
}
