import { compileAcl } from '../auth/index.ts'
import { errorMessage } from '../base/error-message.ts'
import type { Command, CommandOutcome, LiveSession, ProbeOutcome } from '../sessions/index.ts'
import { PeerStream, type SessionSnapshot } from './wire.ts'

/** Slightly longer than `PROBE_TIMEOUT_MS`. */
const PROBE_CALL_TIMEOUT_MS = 2500

/** Calls the peer. */
export type PeerCall = (type: number, message: object, timeoutMs?: number) => Promise<Record<string, unknown>>

/** A session of a peer. The peer enforces its rules; this copy only owns tunnels and forwards commands. */
export class RemoteSession implements LiveSession {
  readonly remote = true
  readonly id: string
  readonly accountId: string
  readonly credentialId: string
  readonly ownerId: string
  readonly clientId: string
  readonly transport: LiveSession['transport']
  readonly agentVersion: string
  readonly os: string
  readonly hostname: string
  readonly ip: string
  readonly region: string
  readonly metadata: string
  readonly startedAt: number
  readonly fence: number
  acl = compileAcl(['*'])
  readonly #call: PeerCall

  constructor(snapshot: SessionSnapshot, call: PeerCall) {
    this.id = snapshot.id
    this.accountId = snapshot.accountId
    this.credentialId = snapshot.credentialId
    this.ownerId = snapshot.ownerId
    this.clientId = snapshot.clientId
    this.transport = snapshot.transport
    this.agentVersion = snapshot.agentVersion
    this.os = snapshot.os
    // A peer of an earlier release does not send it.
    this.hostname = snapshot.hostname ?? ''
    this.ip = snapshot.ip
    this.region = snapshot.region
    this.metadata = snapshot.metadata
    this.startedAt = snapshot.startedAt
    this.fence = snapshot.fence ?? 0
    this.#call = call
  }

  end(reason: string): void {
    // If the link is down, the session is gone as well.
    this.#call(PeerStream.End, { session: this.id, reason }).catch(() => {})
  }

  /** The owning node sees the same change and notifies its agent. */
  tunnelEnded(): void {}

  async probe(): Promise<ProbeOutcome> {
    try {
      const { outcome } = await this.#call(PeerStream.Probe, { session: this.id }, PROBE_CALL_TIMEOUT_MS)
      return outcome === 'alive' || outcome === 'gone' ? outcome : 'unknown'
    } catch {
      return 'unknown'
    }
  }

  async command(command: Command): Promise<CommandOutcome> {
    try {
      const { outcome } = await this.#call(PeerStream.Command, { session: this.id, command })
      if (outcome !== null && outcome !== undefined) return outcome as CommandOutcome
      return { done: false, because: 'lost', reason: 'The session has ended.' }
    } catch (error) {
      return { done: false, because: 'lost', reason: errorMessage(error) }
    }
  }
}
