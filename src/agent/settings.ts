import { parseHostPort } from '../base/values/hostport.ts'
import type { HeartbeatTimes } from '../protocol/index.ts'
import { ConfigError } from './config/error.ts'
import type { AgentKeys } from './config/keys.ts'
import type { Env } from './config/paths.ts'
import type { DialSettings } from './connect/dial.ts'
import { locateServers, type ServerLocation } from './connect/location.ts'
import { parseProxy } from './connect/proxy.ts'
import type { UpdateSettings } from './update/updater.ts'

/** Where the local API listens. */
export interface WebSettings {
  host: string
  port: number
  /** False for the default address: then the next free port will do. */
  explicit: boolean
  allowHosts: readonly string[]
}

/** All settings of an agent, with defaults applied. */
export interface AgentSettings {
  /** The first address of the server. */
  location: ServerLocation
  /** Locates the server again before each round: one on this machine may come back on another port. */
  relocate?: () => readonly ServerLocation[]
  dial: DialSettings
  heartbeat: HeartbeatTimes
  /** How many connections to the server one session may have. */
  legs: number
  metadata: string
  /** Capture buffer size in bytes; 0 disables capturing. */
  captureBytes: number
  redact: readonly string[]
  /** The file that captures survive a restart in; undefined keeps them in memory alone. */
  captureFile?: string | undefined
  remoteManagement: boolean
  updates: UpdateSettings
  /** Undefined disables the local API. */
  web: WebSettings | undefined
}

const DEFAULT_LEGS = 4
const DEFAULT_CAPTURE_BYTES = 50_000_000
const DEFAULT_WEB_PORT = 4040

/** Applies the defaults and locates the server; throws `ConfigError` with what to change. */
export function resolveSettings(keys: AgentKeys, env: Env): AgentSettings {
  const [location] = locateServers(keys, env)
  return {
    location,
    relocate: () => locateServers(keys, env),
    dial: {
      timeoutMs: keys.connect_timeout ?? 10_000,
      ...resolveProxy(keys.proxy_url, env),
      resolvers: keys.dns_resolver_ips ?? [],
      interface: keys.connect_interface,
      crl: keys.crl_noverify ? undefined : keys.crl_url,
    },
    heartbeat: {
      // Zero means the default, as it does on the server.
      intervalMs: keys.heartbeat_interval || 10_000,
      toleranceMs: keys.heartbeat_tolerance || 15_000,
    },
    legs: keys.legs ?? DEFAULT_LEGS,
    metadata: keys.metadata ?? '',
    captureBytes: resolveCaptureBytes(keys),
    redact: keys.inspect_redact ?? [],
    captureFile: keys.inspect_db_file,
    remoteManagement: keys.remote_management ?? true,
    updates: resolveUpdates(keys),
    web: resolveWebSettings(keys),
  }
}

/** Where updates come from. */
export function resolveUpdates(keys: AgentKeys): UpdateSettings {
  return {
    check: keys.update_check ?? true,
    channel: keys.update_channel ?? 'stable',
    url: keys.update_url,
    key: keys.update_key,
  }
}

/** The size of the capture buffer; 0 disables capturing. */
export function resolveCaptureBytes({
  inspect_db_size: size = 0,
  local_storage: storage = true,
}: AgentKeys): number {
  if (!storage || size < 0) return 0
  return size === 0 ? DEFAULT_CAPTURE_BYTES : size
}

/** Parses `web_addr`: host:port, a port, or false. */
export function resolveWebSettings({
  web_addr: address,
  web_allow_hosts: allowHosts = [],
}: AgentKeys): WebSettings | undefined {
  if (address === undefined) return { host: '127.0.0.1', port: DEFAULT_WEB_PORT, explicit: false, allowHosts }
  if (address === 'false') return undefined
  const match = /^(?:(.*):)?(\d{1,5})$/.exec(address)
  const host = match?.[1] || '127.0.0.1'
  const port = Number(match?.[2])
  if (!match || port > 65535 || !parseHostPort(host)) {
    throw new ConfigError([`web_addr "${address}" must be host:port, or false to disable the local API`])
  }
  return {
    host: host.replace(/^\[|\]$/g, ''),
    port,
    explicit: true,
    allowHosts,
  }
}

/** The proxy from the configuration, or from the environment for servers not exempt from it. */
function resolveProxy(
  configured: string | undefined,
  env: Env,
): Pick<DialSettings, 'proxy' | 'bypassesProxy'> {
  if (configured) return { proxy: parseProxy(configured) }
  const inherited = env.http_proxy
  if (!inherited) return { proxy: undefined }
  return {
    proxy: parseProxy(inherited),
    bypassesProxy: ({ loopback, host }) => loopback || isProxyExempt(host, env.no_proxy ?? ''),
  }
}

function isProxyExempt(host: string, noProxy: string): boolean {
  return noProxy
    .split(',')
    .map((entry) =>
      entry
        .trim()
        .replace(/^\*?\./, '')
        .toLowerCase(),
    )
    .some((entry) => entry === '*' || (entry !== '' && (host === entry || host.endsWith(`.${entry}`))))
}
