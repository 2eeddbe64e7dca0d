import type { LiveSession } from './live-session.ts'
import type { LiveTunnel } from './live-tunnel.ts'
import type { EndCause, TunnelEndCause } from './states.ts'

/** A session or tunnel started or stopped. */
export type LiveEvent =
  | { readonly type: 'session_started'; readonly session: LiveSession }
  /** `error`: the reason in words; undefined where the client itself ended it. */
  | {
      readonly type: 'session_stopped'
      readonly session: LiveSession
      readonly end: EndCause
      readonly error: string | undefined
    }
  /** An SSH client sent the command that names its metadata, after it had logged in. */
  | { readonly type: 'session_changed'; readonly session: LiveSession }
  /** A connection of the session to this node opened or closed, also of a session of a peer. */
  | { readonly type: 'legs_changed'; readonly session: LiveSession }
  | { readonly type: 'tunnel_started'; readonly tunnel: LiveTunnel }
  /** Its agent patched its name, texts, options or pooling. */
  | { readonly type: 'tunnel_changed'; readonly tunnel: LiveTunnel }
  | { readonly type: 'tunnel_stopped'; readonly tunnel: LiveTunnel; readonly end: TunnelEndCause }
