import type { Acl } from '../../auth/index.ts'
import type { Legs } from './legs.ts'
import type { LiveTunnel } from './live-tunnel.ts'
import type { SessionState } from './states.ts'

/** Commands for the agent of a session. */
export type Command = 'restart' | 'stop' | 'update'

/** Result of a command: done, not supported by the agent, failed there, or never answered. */
export type CommandOutcome =
  | { readonly done: true }
  | { readonly done: false; readonly because: 'unsupported' | 'failed' | 'lost'; readonly reason: string }

/** `unknown`: the node that owns the session did not answer. */
export type ProbeOutcome = 'alive' | 'gone' | 'unknown'

/** How long a session may take to answer a probe when its own credential requests its name. */
export const PROBE_TIMEOUT_MS = 2000

/** The session of an agent or SSH client, as the registry sees it. */
export interface LiveSession {
  /** `ts_…` */
  readonly id: string
  readonly accountId: string
  readonly credentialId: string
  readonly ownerId: string
  /** Identifies the agent across its connections; random for a session that cannot prove an earlier one. */
  readonly clientId: string
  readonly transport: 'adit/v2' | 'ssh'
  readonly agentVersion: string
  readonly os: string
  readonly arch?: string
  /** The name of its machine; SSH clients do not tell it. */
  readonly hostname?: string
  /** The full user agent string of the client. */
  readonly userAgent?: string
  /** Where it connected: the SNI name, empty without SNI, and the local address. */
  readonly ingressHostname?: string
  readonly ingressIp?: string
  readonly ip: string
  readonly region: string
  readonly metadata: string
  readonly startedAt: number
  /** Orders the sessions of one agent: higher than the fence of every session known when this one started. */
  readonly fence?: number
  /** True for a session of a peer node, registered here so that its tunnels serve this node's clients. */
  readonly remote?: boolean
  /** The registry sets it, and the session itself; drawn in `states.ts`. */
  state: SessionState
  /** What the credential may bind; the registry replaces it when the credential changes. */
  acl: Acl
  /** The agent's connections to this process; absent for SSH clients. */
  readonly legs?: Legs
  /** The legs that it has at other processes have changed. */
  onRemoteLegs?(): void
  /** Sends the reason to the agent and closes its connections, unless it is moving. */
  end(reason: string): void
  /** Notifies the agent that the server ended one of its tunnels. */
  tunnelEnded(tunnel: LiveTunnel, reason: string): void
  command(command: Command): Promise<CommandOutcome>
  /** Checks that the peer is alive. An unresponsive session is removed as lost before the promise resolves. */
  probe(): Promise<ProbeOutcome>
}
