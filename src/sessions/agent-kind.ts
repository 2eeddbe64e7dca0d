import type { AuthRequest } from '../protocol/index.ts'
import type { StreamLimits } from './agent-streams.ts'

/** What the server may expect of an agent, judged by what it calls itself. */
export interface AgentKind {
  /** Ours: sets TCP_NODELAY and acts on RST alone. */
  own: boolean
  limits: StreamLimits
}

const OWN: AgentKind = { own: true, limits: { cap: 4000, unseen: Number.POSITIVE_INFINITY, lingerMs: 0 } }
// The 512th stream ends their whole session, and they take some time to notice that a stream has ended.
const RUST_FAMILY: AgentKind = {
  own: false,
  limits: { cap: 500, unseen: Number.POSITIVE_INFINITY, lingerMs: 100 },
}
// The Go SDK refuses streams that come faster than it takes them; of strangers the same is assumed.
const OTHERS: AgentKind = { own: false, limits: { cap: 500, unseen: 64, lingerMs: 0 } }

export function agentKind(extra: NonNullable<AuthRequest['Extra']>): AgentKind {
  const userAgent = extra.UserAgent ?? ''
  if (userAgent.startsWith('adit/')) return OWN
  return userAgent.includes('ngrok-rust/') ? RUST_FAMILY : OTHERS
}
