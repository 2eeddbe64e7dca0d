import type { AuthRequest } from '../protocol/index.ts'
import type { StreamLimits } from './agent-streams.ts'

/** What the server may expect of an agent, judged by what it calls itself. */
export interface AgentKind {
  /** Ours: sets TCP_NODELAY and acts on RST alone. */
  firstParty: boolean
  limits: StreamLimits
}

const FIRST_PARTY: AgentKind = {
  firstParty: true,
  limits: { maxStreams: 4000, maxUnacknowledged: Number.POSITIVE_INFINITY, lingerMs: 0 },
}
// The 512th stream ends their whole session, and they take some time to notice that a stream has ended.
const RUST_SDK: AgentKind = {
  firstParty: false,
  limits: { maxStreams: 500, maxUnacknowledged: Number.POSITIVE_INFINITY, lingerMs: 100 },
}
// The Go SDK refuses streams that come faster than it takes them; of strangers the same is assumed.
const OTHER: AgentKind = {
  firstParty: false,
  limits: { maxStreams: 500, maxUnacknowledged: 64, lingerMs: 0 },
}

export function agentKind(extra: NonNullable<AuthRequest['Extra']>): AgentKind {
  const userAgent = extra.UserAgent ?? ''
  if (userAgent.startsWith('adit/')) return FIRST_PARTY
  return userAgent.includes('ngrok-rust/') ? RUST_SDK : OTHER
}
