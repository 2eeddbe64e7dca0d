/**
 * The agent: the program that runs beside the local service, keeps a session with a server and forwards the connections of
 * its tunnels. This front door is the library (`connect`, `forward`); the command line starts in `cli.ts`. The agent may use
 * `base` and `protocol`. Begin reading with `agent.ts`, which wires the rest: `connect` dials the server and maintains the
 * session, `tunnels` turns definitions into bound tunnels, `forward` relays client connections to the upstream, `inspector`
 * captures and replays requests, `local-api` serves both on this machine, `config` reads, edits and upgrades configuration
 * files, `command-line` declares the commands and `commands` implements them, `screen` shows the status, `log` writes the log, `update` installs new
 * versions and `testing` holds the test harness.
 */
export {
  type AgentHandle,
  type ConnectOptions,
  connect,
  type ForwardedTunnel,
  type ForwardOptions,
  forward,
} from './library.ts'
