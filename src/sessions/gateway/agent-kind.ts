import type { AuthRequest } from '../../protocol/index.ts'
import type { StreamLimits } from '../session/agent-streams.ts'

/** Capabilities of an agent, derived from its user agent (decision 33). */
export interface AgentKind {
  /** The adit agent: sets TCP_NODELAY and acts on RST alone. */
  firstParty: boolean
  limits: StreamLimits
}

const FIRST_PARTY: AgentKind = {
  firstParty: true,
  limits: { maxStreams: 4000, maxUnacknowledged: Number.POSITIVE_INFINITY, lingerMs: 0 },
}
// The 512th stream ends the whole session, and closed streams are noticed late.
const RUST_SDK: AgentKind = {
  firstParty: false,
  limits: { maxStreams: 500, maxUnacknowledged: Number.POSITIVE_INFINITY, lingerMs: 100 },
}
// The Go SDK rejects streams that arrive faster than it accepts them; assume the same of unknown agents.
const OTHER: AgentKind = {
  firstParty: false,
  limits: { maxStreams: 500, maxUnacknowledged: 64, lingerMs: 0 },
}

export function agentKind(extra: NonNullable<AuthRequest['Extra']>): AgentKind {
  const userAgent = extra.UserAgent ?? ''
  if (userAgent.startsWith('adit/')) return FIRST_PARTY
  return userAgent.includes('ngrok-rust/') ? RUST_SDK : OTHER
}
