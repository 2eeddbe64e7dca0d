export {
  type AgentHandle,
  type ConnectOptions,
  connect,
  type ForwardedTunnel,
  type ForwardOptions,
  forward,
} from './library.ts'
