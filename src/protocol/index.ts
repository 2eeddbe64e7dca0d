/**
 * What agent and server say to each other, with docs/protocol.md as its specification. It knows nothing of tunnels,
 * accounts or sockets beyond a `Duplex`. Begin with `mux/mux-session.ts` and `mux/mux-stream.ts`, then
 * `mux/stream-type.ts` and `mux/rpc.ts`; `agent-session.ts` and `served-session.ts` are the two ends, `messages.ts` the
 * message shapes, `errors.ts` the errors.
 */
export {
  type AgentCommand,
  type AgentIdentity,
  AgentSession,
  type AgentSessionOptions,
  type BindMessage,
  connectAgentSession,
  startAgentSession,
} from './agent-session.ts'
export { decode, rawField } from './decode.ts'
export { DIAL_FAILURE_FIELD, type DialFailure, type DialFailureName, dialFailures } from './dial-failures.ts'
export { protocolError, protocolErrors, RETRYABLE_ERRORS } from './errors.ts'
export {
  AuthRequest,
  type AuthResponse,
  BindOpts,
  BindRequest,
  type BindResponse,
  LabelRequest,
  type LabelResponse,
  PatchRequest,
  PolicyNote,
  UnbindRequest,
} from './messages.ts'
export { ConnectionLost, ErrorCode, MAX_WINDOW, MuxError, WINDOW } from './mux/frame.ts'
export {
  Heartbeat,
  HeartbeatEcho,
  HeartbeatTimeout,
  type HeartbeatTimes,
  MIN_HEARTBEAT_MS,
  ping,
  Watchdog,
} from './mux/heartbeat.ts'
export { createLinkPool, MuxSession } from './mux/mux-session.ts'
export { MuxStream } from './mux/mux-stream.ts'
export { ProtocolError } from './mux/protocol-error.ts'
export { CallReader, call, MESSAGE_TIMEOUT_MS } from './mux/rpc.ts'
export { StreamType, TypeReader, typeBytes } from './mux/stream-type.ts'
export { WindowGrowth, WindowTuner } from './mux/window-growth.ts'
export type { ProxyHeader } from './proxy-header.ts'
export { proxyProtocolHeader } from './proxy-protocol.ts'
export { ServedSession } from './served-session.ts'
