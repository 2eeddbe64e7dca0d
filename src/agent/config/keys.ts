import { endpointShape, tunnelShape } from './definitions.ts'
import {
  choice,
  duration,
  flag,
  flagOr,
  list,
  mapOf,
  number,
  type ObjectFields,
  object,
  shortText,
  text,
  textOrFalse,
  textOrList,
} from './shape.ts'

/** The settings of the agent itself, under their version 3 names (`agent:`). */
export const agentKeys = {
  authtoken: text,
  api_key: text,
  connect_interface: text,
  connect_timeout: duration,
  connect_url: textOrList,
  connect_cas: text,
  crl_noverify: flag,
  crl_url: text,
  console_ui: flagOr('iftty'),
  console_ui_color: choice('black', 'transparent'),
  dns_resolver_ips: list(text),
  heartbeat_interval: duration,
  heartbeat_tolerance: duration,
  inspect_db_size: number(-1, 2 ** 40),
  inspect_db_file: text,
  inspect_redact: list(text),
  legs: number(1, 16),
  local_storage: flag,
  log: textOrFalse('a path, stdout, stderr'),
  log_format: choice('term', 'logfmt', 'json'),
  log_level: choice('debug', 'info', 'warn', 'error', 'crit'),
  metadata: shortText(4096),
  proxy_url: text,
  remote_management: flag,
  update_check: flag,
  update_channel: choice('stable', 'beta', 'unstable'),
  update_url: text,
  update_key: text,
  web_addr: textOrFalse('host:port'),
  web_allow_hosts: list(text),
}

/** The agent's settings from files, environment and flags. */
export type AgentKeys = ObjectFields<typeof agentKeys>

const { connect_url, connect_cas, ...sharedKeys } = agentKeys

/** Version 2 names that changed in version 3. */
export const RENAMED_KEYS = { server_addr: 'connect_url', root_cas: 'connect_cas' } as const

/** A version 2 file: agent keys at the top, tunnels in a map. */
export const version2 = object(
  {
    version: choice('2'),
    ...sharedKeys,
    server_addr: connect_url,
    root_cas: connect_cas,
    region: text,
    tunnels: mapOf(tunnelShape),
  },
  {
    connect_url: 'version 2 files call it "server_addr"',
    connect_cas: 'version 2 files call it "root_cas"',
    agent: 'it needs version 3; run "adit config upgrade"',
    endpoints: 'it needs version 3; run "adit config upgrade"',
    http_proxy: 'it was renamed to "proxy_url" in version 2',
    socks5_proxy: 'it was renamed to "proxy_url" in version 2',
    update: 'it was renamed to "update_check" in version 2',
  },
)

/** A version 3 file: agent keys under `agent`, endpoints in a list, tunnels still supported. */
export const version3 = object(
  {
    version: choice('3'),
    agent: object(agentKeys, {
      server_addr: 'version 3 files call it "connect_url"',
      root_cas: 'version 3 files call it "connect_cas"',
      region: 'version 3 has no regions; remove the line',
    }),
    endpoints: list(endpointShape),
    tunnels: mapOf(tunnelShape),
  },
  {
    ...Object.fromEntries(
      Object.keys(agentKeys).map((key) => [key, 'in version 3 it belongs under "agent:"']),
    ),
    server_addr: 'version 3 files have "connect_url" under "agent:"',
    root_cas: 'version 3 files have "connect_cas" under "agent:"',
    region: 'version 3 has no regions; remove the line',
  },
)
