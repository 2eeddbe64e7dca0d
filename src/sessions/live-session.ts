import type { Acl } from '../auth/index.ts'
import type { LiveTunnel } from './live-tunnel.ts'

/** Commands to the agent behind a session. */
export type Command = 'restart' | 'stop' | 'update'

/** How a command ended: carried out, refused by the agent for a reason, failed there, or never answered. */
export type CommandOutcome =
  | { readonly done: true }
  | { readonly done: false; readonly because: 'unsupported' | 'failed' | 'lost'; readonly reason: string }

/** `unknown`: the node that has the session could not say. */
export type ProbeOutcome = 'alive' | 'gone' | 'unknown'

/** How long a session may take to give a sign of life when its name is asked for by its own credential. */
export const PROBE_TIMEOUT_MS = 2000

/** One connection of an agent or of an SSH client, as the registry knows it. */
export interface LiveSession {
  /** `ts_…` */
  readonly id: string
  readonly accountId: string
  readonly credentialId: string
  readonly ownerId: string
  /** Names the agent across its connections; a session that cannot prove one has a name of its own. */
  readonly clientId: string
  readonly transport: 'adit/v2' | 'ssh'
  readonly agentVersion: string
  readonly os: string
  readonly arch?: string
  /** What the client calls itself, with everything it is made of. */
  readonly userAgent?: string
  /** Where it connected to: the name it dialled, empty when it told none, and our address. */
  readonly ingressHostname?: string
  readonly ingressIp?: string
  readonly ip: string
  readonly region: string
  readonly metadata: string
  readonly startedAt: number
  /** Orders the sessions of one agent: each has a higher one than those it knew of when it began. */
  readonly fence?: number
  /** True for a session of another node, shown here so that its tunnels serve visitors of this one. */
  readonly remote?: boolean
  /** What its credential may bind; replaced by the registry when the credential changes. */
  acl: Acl
  /** Tells the agent why and closes the connection. */
  end(reason: string): void
  /** Tells the agent that one of its tunnels was ended here. */
  tunnelEnded(tunnel: LiveTunnel, reason: string): void
  command(command: Command): Promise<CommandOutcome>
  /** Asks for a sign of life. A session that gives none is ended as lost before the answer. */
  probe(): Promise<ProbeOutcome>
}
