import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { join } from 'node:path'
import { getCACertificates } from 'node:tls'
import { describeFileError } from '../../base/text/file-error.ts'
import { pemBlocks } from '../../base/text/pem-blocks.ts'
import { hideUrlSecrets } from '../../base/text/url-secrets.ts'
import { joinHostPort, parseHostPort } from '../../base/values/hostport.ts'
import { isLocalDomain } from '../../base/values/local-domain.ts'
import { Secret } from '../../base/values/secret.ts'
import { ConfigError } from '../config/error.ts'
import type { AgentKeys } from '../config/keys.ts'
import { defaultDataDir, type Env } from '../config/paths.ts'
import { isRecord } from '../config/shape.ts'

/** The server an agent connects to, with the credential and the trust anchors. */
export interface ServerLocation {
  host: string
  port: number
  /**
   * The name under which the server showed its certificate, where `host` is an address that it announced: the certificate
   * of that address is for one of the two.
   */
  announcedUnder?: string | undefined
  /** Addresses of `host` in the order to try; undefined to resolve it when dialling. */
  addresses?: readonly string[] | undefined
  authtoken: Secret
  /** PEM of the trusted authorities; undefined for Node's defaults. */
  cas: string[] | undefined
  /** True for this machine: no proxy, and short backoff. */
  loopback: boolean
  /** The address for agents of a server on this machine, where this location is another one of it. */
  localAgentAddr?: string | undefined
  /** What a server on this machine has announced in its data directory; undefined for other servers. */
  announced?: AnnouncedServer | undefined
}

/** Facts about a server on this machine. */
export interface AnnouncedServer {
  /** The file with its private root. */
  caFile: string | undefined
  /** The base URL of its plain HTTP listener; undefined when that is off. */
  httpUrl: string | undefined
}

/**
 * The credentials file a server on this machine writes for its agents (docs/agent.md, How the agent finds its
 * server).
 */
interface Credentials {
  authtoken?: string
  agent_addr?: string
  ca_file?: string
  http_url?: string
}

/** A host name or address without brackets, and a port. */
export interface Address {
  host: string
  port: number
}

const DEFAULT_PORT = 443

/**
 * Locates the server: every configured address, else the server on this machine. The error names the next step to
 * take.
 */
export function locateServers(keys: AgentKeys, env: Env): [ServerLocation, ...ServerLocation[]] {
  const local = readCredentials(defaultDataDir(env))
  const configured = keys.connect_url ?? local?.agent_addr
  if (configured === undefined) throw new ConfigError(NO_SERVER_FOUND)
  const [first, ...others] = parseServerAddresses(configured)
  const locate = (address: Address) => locateServer(address, keys, local)
  return [locate(first), ...others.map(locate)]
}

function locateServer(
  { host, port }: Address,
  keys: AgentKeys,
  local: Credentials | undefined,
): ServerLocation {
  // The local server's token and authority must not be used for another server.
  const isLocal =
    local?.agent_addr !== undefined && isSameAddress(parseServerAddress(local.agent_addr), { host, port })
  const authtoken = keys.authtoken ?? (isLocal ? local?.authtoken : undefined)
  if (!authtoken) {
    throw new ConfigError([
      `No authtoken is configured for the server ${joinHostPort(host, port)}.`,
      'Create one in the dashboard of the server and save it with: adit config add-authtoken TOKEN',
    ])
  }
  return {
    host,
    port,
    authtoken: new Secret(authtoken),
    cas: resolveAuthorities(keys.connect_cas, isLocal ? local?.ca_file : undefined),
    loopback: isLoopback(host),
    localAgentAddr: !isLocal && isLoopback(host) ? local?.agent_addr : undefined,
    announced: isLocal ? { caFile: local?.ca_file, httpUrl: local?.http_url } : undefined,
  }
}

/** Whether a host is this machine. */
export function isLoopback(host: string): boolean {
  return isLocalDomain(host) || /^127\.|^::1$/.test(host)
}

const NO_SERVER_FOUND = [
  'No server is configured, and none was found running on this machine.',
  'Start one here with:       adit server',
  'Or use one elsewhere with: adit config add-connect-url HOST:PORT',
  '                           adit config add-authtoken TOKEN',
]

function isSameAddress(a: Address, b: Address): boolean {
  const normalize = (host: string) => (['localhost', '0.0.0.0', '::'].includes(host) ? '127.0.0.1' : host)
  return normalize(a.host) === normalize(b.host) && a.port === b.port
}

/** One or more comma-separated addresses. */
export function parseServerAddresses(text: string): [Address, ...Address[]] {
  const [first = '', ...others] = text.split(',').map((part) => part.trim())
  return [parseServerAddress(first), ...others.map(parseServerAddress)]
}

/** `host:port` with port 443 as default; a scheme is accepted and ignored. */
export function parseServerAddress(text: string): Address {
  const bare = text.replace(/^(tls|https):\/\//, '').replace(/\/$/, '')
  const parsed = parseHostPort(bare)
  if (!parsed)
    throw new ConfigError([
      `"${hideUrlSecrets(text)}" is not the address of a server; use host:port, for example connect.tunnels.example.com:4443`,
    ])
  return { host: parsed.host.replace(/^\[|\]$/g, ''), port: parsed.port ?? DEFAULT_PORT }
}

function resolveAuthorities(
  configured: string | undefined,
  discovered: string | undefined,
): string[] | undefined {
  if (configured === 'host') return getCACertificates('system')
  if (configured === undefined || configured === 'trusted')
    return discovered === undefined ? undefined : [readAuthorities(discovered)]
  return [readAuthorities(configured)]
}

/** Reads PEM authorities from a file, which must contain at least one. */
export function readAuthorities(path: string): string {
  let pem: string
  try {
    pem = readFileSync(path, 'utf8')
  } catch (error) {
    throw new ConfigError([`cannot read the certificate authorities in ${path}: ${describeFileError(error)}`])
  }
  if (!pem.includes('-----BEGIN CERTIFICATE-----')) {
    throw new ConfigError([`${path} holds no PEM certificate; connect_cas needs the authority of the server`])
  }
  for (const certificate of pemBlocks(pem, 'CERTIFICATE')) {
    try {
      new X509Certificate(certificate)
    } catch (error) {
      throw new ConfigError([`${path} holds a certificate that cannot be read: ${describeFileError(error)}`])
    }
  }
  return pem
}

/** The SNI name to check the certificate against; undefined for an IP address. */
export function toServerName(host: string): string | undefined {
  return isIP(host) ? undefined : host
}

function readCredentials(dataDir: string): Credentials | undefined {
  const path = join(dataDir, 'credentials.json')
  try {
    const content: unknown = JSON.parse(readFileSync(path, 'utf8'))
    if (!isRecord(content)) return undefined
    const stringField = (key: keyof Credentials) =>
      typeof content[key] === 'string' ? { [key]: content[key] } : {}
    return {
      ...stringField('authtoken'),
      ...stringField('agent_addr'),
      ...stringField('ca_file'),
      ...stringField('http_url'),
    }
  } catch {
    // Absent, unreadable or half-written: there is no usable server here.
    return undefined
  }
}
