import { parseHostPort } from '../base/hostport.ts'
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
  /** False when nobody asked for this address: then the next free port will do. */
  explicit: boolean
  allowHosts: readonly string[]
}

/** Everything an agent runs by, defaults filled in. */
export interface AgentSettings {
  /** The first address of the server. */
  location: ServerLocation
  /** Finds all its addresses anew before each round: a server on this machine may come back at another port. */
  relocate?: () => readonly ServerLocation[]
  dial: DialSettings
  heartbeat: HeartbeatTimes
  metadata: string
  /** Bytes of captured requests to keep; 0 keeps none. */
  captureBytes: number
  redact: readonly string[]
  remoteManagement: boolean
  updates: UpdateSettings
  /** Undefined: no local API. */
  web: WebSettings | undefined
}

const DEFAULT_CAPTURE_BYTES = 50_000_000
const DEFAULT_WEB_PORT = 4040

/** Fills in the defaults and finds the server; throws `ConfigError` with what to change. */
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
      // Nothing at all means the usual, as it does to the server.
      intervalMs: keys.heartbeat_interval || 10_000,
      toleranceMs: keys.heartbeat_tolerance || 15_000,
    },
    metadata: keys.metadata ?? '',
    captureBytes: resolveCaptureBytes(keys),
    redact: keys.inspect_redact ?? [],
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

function resolveCaptureBytes({
  inspect_db_size: size = 0,
  local_storage: storage = true,
}: AgentKeys): number {
  if (!storage || size < 0) return 0
  return size === 0 ? DEFAULT_CAPTURE_BYTES : size
}

/** Reads `web_addr`: host:port, a port, or false. */
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
    throw new ConfigError([`web_addr "${address}" must be host:port, or false to switch the local API off`])
  }
  return {
    host: host === 'localhost' ? '127.0.0.1' : host.replace(/^\[|\]$/g, ''),
    port,
    explicit: true,
    allowHosts,
  }
}

/** The proxy named by the configuration, or by the environment for servers that are not exempt from it. */
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
