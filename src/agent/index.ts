/**
 * The agent: the program that runs beside the local service, keeps a session with a server and forwards the connections
 * of its tunnels. This front door is the library (`connect`, `forward`); the command line starts in `commands/list.ts`. Begin with
 * `agent.ts`, which wires the rest. `config/` reads, edits and upgrades configuration files; `connect/` dials the server
 * and maintains the session; `spec/` says what to expose and how to forward it, and `tunnels/` binds it; `forward/`
 * relays client connections to the upstream; `inspector/` captures requests and `replay/` sends them again; `local-api/`
 * serves both on this machine; `commands/` declares the commands and implements them; `screen/` shows
 * the status, `log/` writes the log, and `update/` installs new versions.
 */
export {
  type AgentHandle,
  type ConnectOptions,
  connect,
  type ForwardedTunnel,
  type ForwardOptions,
  forward,
} from './library.ts'
