export {
  type AgentCommand,
  type AgentDialOptions,
  type AgentIdentity,
  AgentSession,
  type AgentSessionOptions,
  type BindMessage,
  connectAgentSession,
  startAgentSession,
} from './agent-session.ts'
export { decode, rawField } from './decode.ts'
export { ErrorCode, MuxError, WINDOW } from './frame.ts'
export { Heartbeat, HeartbeatEcho, type HeartbeatTimes, Watchdog } from './heartbeat.ts'
export {
  AuthRequest,
  type AuthResponse,
  BindOpts,
  BindRequest,
  type BindResponse,
  LabelRequest,
  type LabelResponse,
  PatchRequest,
  type SrvInfoResponse,
  UnbindRequest,
} from './messages.ts'
export { createLinkPool, type MuxOptions, MuxSession } from './mux-session.ts'
export { MuxStream } from './mux-stream.ts'
export type { ProxyHeader } from './proxy-header.ts'
export { proxyProtocolHeader } from './proxy-protocol.ts'
export { parseProtocolError, Refusal } from './refusal.ts'
export { RETRYABLE_REFUSALS, refusal, refusals } from './refusals.ts'
export { CallReader, call, MESSAGE_TIMEOUT_MS, type MessageLimits } from './rpc.ts'
export { ServedSession, type ServedSessionOptions } from './served-session.ts'
export { StreamType, TypeReader, typeBytes } from './stream-type.ts'
