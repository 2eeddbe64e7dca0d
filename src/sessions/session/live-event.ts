import type { LiveSession } from './live-session.ts'
import type { LiveTunnel } from './live-tunnel.ts'

/** A session or tunnel started or stopped. */
export type LiveEvent =
  | { readonly type: 'session_started'; readonly session: LiveSession }
  /** `error`: why the session ended; undefined after an orderly end. `inGrace`: as for its tunnels. */
  | {
      readonly type: 'session_stopped'
      readonly session: LiveSession
      readonly error: string | undefined
      readonly inGrace: boolean
      /** A newer session of the agent took its place. */
      readonly replaced: boolean
    }
  /** An SSH client sent the command that names its metadata, after it had logged in. */
  | { readonly type: 'session_changed'; readonly session: LiveSession }
  /** A connection of the session to this node opened or closed, also of a session of a peer. */
  | { readonly type: 'legs_changed'; readonly session: LiveSession }
  | { readonly type: 'tunnel_started'; readonly tunnel: LiveTunnel }
  /** Its agent patched its name, texts, options or pooling. */
  | { readonly type: 'tunnel_changed'; readonly tunnel: LiveTunnel }
  /** `inGrace`: the name is in its grace period, reserved for the credential. `replaced`: as for its session. */
  | {
      readonly type: 'tunnel_stopped'
      readonly tunnel: LiveTunnel
      readonly inGrace: boolean
      readonly replaced: boolean
    }
