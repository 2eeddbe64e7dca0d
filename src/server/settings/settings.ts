import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { availableParallelism, homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { CLIENT_FIELDS } from '../../base/http/forwarded.ts'
import { CommandFailure, takeFlags } from '../../base/process/command-line.ts'
import { usableMemory } from '../../base/process/usable-memory.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { describeFileError } from '../../base/text/file-error.ts'
import { hasPassword, parsePostgresUrl } from '../../base/text/postgres-url.ts'
import { parseDomain } from '../../base/values/domain.ts'
import { findNearest } from '../../base/values/nearest.ts'
import type { DnsProviderName } from '../../certs/index.ts'
import { REGIONS } from '../../resources/index.ts'
import {
  parseBoolean,
  parseDialAddress,
  parseDuration,
  parseEmail,
  parseHttpUrl,
  parseInteger,
  parseList,
  parseListenAddress,
  parseOptional,
  parseOptionalPath,
  parsePort,
  parsePortRange,
  parseRanges,
} from './setting-values.ts'

/** The parts one process can run. */
export const ROLES = ['api', 'edge', 'gateway', 'dns', 'jobs'] as const
export type RoleName = (typeof ROLES)[number]

/** Far more than machines have cores. */
const MAX_WORKERS = 256
/** Memory for which the machine gets a worker: one has about 150 MiB before there is any traffic. */
const WORKER_BYTES = 512 * 1024 * 1024

/** The listeners that can require a PROXY protocol header. */
const PROXY_PROTOCOL_LISTENERS = ['http', 'https', 'tcp', 'agent', 'ssh'] as const
export type ProxyProtocolListener = (typeof PROXY_PROTOCOL_LISTENERS)[number]

/** The DNS providers, as a record so that the compiler names one that is missing here. */
const DNS_PROVIDERS = Object.keys({
  cloudflare: true,
  digitalocean: true,
  hetzner: true,
  rfc2136: true,
  route53: true,
} satisfies Record<DnsProviderName, true>) as DnsProviderName[]

/** What the edge serves at `<name>.<domain>` beside endpoints. */
const PLATFORM_HOSTS = ['api', 'dashboard'] as const
export type PlatformHost = (typeof PLATFORM_HOSTS)[number]

/** A setting; `name` is its flag without hyphens, `value` the placeholder in the help. */
interface SettingDefinition<T> {
  readonly name: string
  readonly value: string
  readonly help: string
  readonly fallback: string | ((environment: NodeJS.ProcessEnv) => string)
  parse(text: string, flag: string): T
}

function defineSetting<T>(
  name: string,
  value: string,
  help: string,
  fallback: SettingDefinition<T>['fallback'],
  parse: SettingDefinition<T>['parse'],
): SettingDefinition<T> {
  return { name, value, help, fallback, parse }
}

/** Every setting of `adit server`: flag, variable `ADIT_<FLAG>`, default and help. */
const definitions = {
  dataDir: defineSetting(
    'data-dir',
    'DIR',
    'directory for all state',
    (environment) =>
      join(environment.XDG_DATA_HOME || join(environment.HOME || homedir(), '.local', 'share'), 'adit'),
    (text) => resolve(text),
  ),
  databaseUrl: defineSetting(
    'database-url',
    'URL',
    'postgres://… ; SQLite in the data directory when unset; put a password in the variable or a file',
    '',
    (text, flag) => {
      if (text !== '' && !/^postgres(ql)?:\/\//.test(text))
        throw new CommandFailure(
          `--${flag} has to start with postgres://; leave it unset for the embedded database.`,
        )
      // Checked here: the library's error would contain the URL with its password.
      if (text !== '' && parsePostgresUrl(text) === undefined)
        throw new CommandFailure(
          `--${flag} cannot be read. Write postgres://user:password@host:port/database, with special characters percent-encoded.`,
        )
      return parseOptional(text)
    },
  ),
  databaseUrlFile: defineSetting(
    'database-url-file',
    'FILE',
    'file with the database URL, which keeps it out of process lists',
    '',
    parseOptionalPath,
  ),
  apiAddr: defineSetting(
    'api-addr',
    'HOST:PORT',
    'management API and dashboard',
    '127.0.0.1:4080',
    parseListenAddress,
  ),
  probeAddr: defineSetting(
    'probe-addr',
    'HOST:PORT',
    'separate listener for /healthz and /readyz',
    'false',
    parseListenAddress,
  ),
  downloads: defineSetting(
    'downloads',
    'BOOL',
    'offer agent downloads at /install.sh and /download of the domain and the dashboard',
    'true',
    parseBoolean,
  ),
  publicReadyz: defineSetting(
    'public-readyz',
    'BOOL',
    'also serve /readyz on the public HTTP port, for load balancers, on hosts without an endpoint',
    'false',
    parseBoolean,
  ),
  sharedSources: defineSetting(
    'shared-sources',
    'LIST',
    'addresses and CIDR ranges shared by many clients, such as load balancers: no per-source limits',
    '',
    parseRanges,
  ),
  trustedProxies: defineSetting(
    'trusted-proxies',
    'LIST',
    'addresses and CIDR ranges of proxies in front of this server that are trusted to report the client',
    '',
    (text, flag) => {
      if (text === '') return undefined
      const whole = parseList(text).find((range) => /\/0+$/.test(range))
      if (whole !== undefined)
        throw new CommandFailure(
          `--${flag}: ${whole} would let any visitor claim any address; list only the addresses of the proxies.`,
        )
      return parseRanges(text, flag)
    },
  ),
  forwardedHeader: defineSetting(
    'forwarded-header',
    'NAME',
    `header in which trusted proxies report the client: ${CLIENT_FIELDS.join(', ')}`,
    CLIENT_FIELDS[0],
    (text, flag) => {
      const field = CLIENT_FIELDS.find((name) => name === text.toLowerCase())
      if (field === undefined)
        throw new CommandFailure(`--${flag} must be one of ${CLIENT_FIELDS.join(', ')}, not "${text}".`)
      return field
    },
  ),
  proxyProtocol: defineSetting(
    'proxy-protocol',
    'LIST',
    `listeners that require a PROXY protocol header: ${PROXY_PROTOCOL_LISTENERS.join(',')}`,
    '',
    (text, flag) => {
      const names = parseList(text)
      const unknown = names.find((word) => !(PROXY_PROTOCOL_LISTENERS as readonly string[]).includes(word))
      if (unknown !== undefined)
        throw new CommandFailure(
          `--${flag}: there is no listener "${unknown}"; use one or more of ${PROXY_PROTOCOL_LISTENERS.join(',')}.`,
        )
      return new Set(names as ProxyProtocolListener[])
    },
  ),
  apiUrl: defineSetting(
    'api-url',
    'URL',
    'base URL in API responses; https://api.<domain> when unset, or --api-addr if that is not served',
    '',
    parseHttpUrl,
  ),
  platformHosts: defineSetting(
    'platform-hosts',
    'LIST',
    'what is served at api.<domain> and dashboard.<domain> through the public HTTPS port; false for neither',
    PLATFORM_HOSTS.join(','),
    (text, flag) => {
      const names = text === 'false' ? [] : parseList(text)
      const unknown = names.find((word) => !(PLATFORM_HOSTS as readonly string[]).includes(word))
      if (unknown !== undefined)
        throw new CommandFailure(
          `--${flag} must be ${PLATFORM_HOSTS.join(',')}, one of them, or false, not "${text}".`,
        )
      return new Set(names as PlatformHost[])
    },
  ),
  apiRateLimit: defineSetting(
    'api-rate-limit',
    'N',
    'API calls per account and minute; 0 for no limit',
    '6000',
    parseInteger,
  ),
  loginRateLimit: defineSetting(
    'login-rate-limit',
    'N',
    'invalid SAML messages one address may send per minute; 0 for no limit',
    '60',
    parseInteger,
  ),
  responseTimeout: defineSetting(
    'response-timeout',
    'DURATION',
    'how long a request waits while neither side sends a byte; 0 for no limit; policies can override it',
    '5m',
    parseDuration,
  ),
  upgradeTimeout: defineSetting(
    'upgrade-timeout',
    'DURATION',
    'how long `adit server upgrade` waits for the new release to be ready; 0 for no limit',
    '60s',
    parseDuration,
  ),
  httpAddr: defineSetting('http-addr', 'HOST:PORT', 'public HTTP', '127.0.0.1:8080', parseListenAddress),
  httpsAddr: defineSetting(
    'https-addr',
    'HOST:PORT',
    'public HTTPS and TLS',
    '127.0.0.1:8443',
    parseListenAddress,
  ),
  publicHttpPort: defineSetting(
    'public-http-port',
    'PORT',
    'HTTP port visitors see, behind a NAT or balancer',
    '',
    parsePort,
  ),
  publicHttpsPort: defineSetting(
    'public-https-port',
    'PORT',
    'HTTPS port visitors see, behind a NAT or balancer',
    '',
    parsePort,
  ),
  tcpHost: defineSetting(
    'tcp-host',
    'HOST',
    'address public TCP ports are bound to',
    '127.0.0.1',
    (text) => text,
  ),
  tcpPorts: defineSetting('tcp-ports', 'FROM-TO', 'public TCP ports', '20000-20999', parsePortRange),
  agentAddr: defineSetting('agent-addr', 'HOST:PORT', 'agents', '127.0.0.1:4443', parseListenAddress),
  agentPublicAddr: defineSetting(
    'agent-public-addr',
    'HOST:PORT',
    'how agents dial this node when another one fails; false to not advertise it; --agent-addr when unset',
    '',
    (text, flag) => (text === 'false' ? false : parseDialAddress(text, flag)),
  ),
  sshAddr: defineSetting('ssh-addr', 'HOST:PORT', 'SSH gateway', '127.0.0.1:2222', parseListenAddress),
  peerAddr: defineSetting(
    'peer-addr',
    'HOST:PORT',
    'listener for other nodes on the same database; auto: on this machine, if there can be any',
    'auto',
    (text, flag) => (text === 'auto' ? 'auto' : parseListenAddress(text, flag)),
  ),
  peerAdvertise: defineSetting(
    'peer-advertise',
    'HOST:PORT',
    'how other nodes dial it, if not at the bound address',
    '',
    parseDialAddress,
  ),
  sshHostCa: defineSetting(
    'ssh-host-ca',
    'ID',
    'SSH authority that certifies the host key',
    '',
    parseOptional,
  ),
  dnsAddr: defineSetting(
    'dns-addr',
    'HOST:PORT',
    'DNS over UDP and TCP',
    '127.0.0.1:5354',
    parseListenAddress,
  ),
  publicIps: defineSetting(
    'public-ips',
    'LIST',
    'public addresses of this server, for its DNS responses',
    '127.0.0.1',
    (text, flag) => {
      const wrong = parseList(text).find((word) => isIP(word) === 0)
      if (wrong !== undefined) throw new CommandFailure(`--${flag}: "${wrong}" is not an IP address.`)
      return parseList(text)
    },
  ),
  dnsResolver: defineSetting(
    'dns-resolver',
    'LIST',
    "DNS resolvers for users' domains; those of the machine when unset",
    '',
    parseList,
  ),
  domain: defineSetting(
    'domain',
    'NAME',
    'domain under which endpoints get their names',
    'adit.localhost',
    (text, flag) => {
      try {
        return parseDomain(text)
      } catch (error) {
        throw new CommandFailure(`--${flag}: ${errorMessage(error)}`)
      }
    },
  ),
  nameCooldown: defineSetting(
    'name-cooldown',
    'DURATION',
    'how long other accounts cannot take a name after its last use; 0 for no cooldown',
    '24h',
    parseDuration,
  ),
  region: defineSetting('region', 'NAME', `one of ${REGIONS.join(', ')}`, 'us', (text, flag) => {
    if (!(REGIONS as readonly string[]).includes(text))
      throw new CommandFailure(`--${flag} must be one of ${REGIONS.join(', ')}, not "${text}".`)
    return text
  }),
  masterKeyFile: defineSetting(
    'master-key-file',
    'FILE',
    'key that seals secrets; created in the data directory when unset',
    '',
    parseOptionalPath,
  ),
  tlsCert: defineSetting(
    'tls-cert',
    'FILE',
    'certificate chain for the domain and *.<domain>, in PEM, instead of an automatic one; reloaded when it changes',
    '',
    parseOptionalPath,
  ),
  tlsKey: defineSetting('tls-key', 'FILE', 'private key of --tls-cert, in PEM', '', parseOptionalPath),
  acmeDirectory: defineSetting(
    'acme-directory',
    'URL',
    'ACME server for automatic certificates; off when unset',
    '',
    parseHttpUrl,
  ),
  acmeCa: defineSetting(
    'acme-ca',
    'FILE',
    'certificate authority of a private ACME server',
    '',
    parseOptionalPath,
  ),
  acmeEmail: defineSetting('acme-email', 'ADDRESS', 'contact for the ACME account', '', parseEmail),
  dnsProvider: defineSetting(
    'dns-provider',
    'NAME',
    `publishes challenge records for wildcard certificates: ${DNS_PROVIDERS.join(', ')}`,
    '',
    (text, flag) => {
      if (text === '') return undefined
      const provider = DNS_PROVIDERS.find((name) => name === text.toLowerCase())
      if (provider === undefined)
        throw new CommandFailure(`--${flag} must be one of ${DNS_PROVIDERS.join(', ')}, not "${text}".`)
      return provider
    },
  ),
  dnsCredentials: defineSetting(
    'dns-credentials',
    'FILE',
    'NAME=value lines with the credentials of the DNS provider; the environment when unset',
    '',
    parseOptionalPath,
  ),
  outboundAllow: defineSetting(
    'outbound-allow',
    'LIST',
    'private addresses and hosts that outbound calls may reach, comma-separated',
    '',
    parseList,
  ),
  outboundCa: defineSetting(
    'outbound-ca',
    'FILE',
    'authorities in PEM that outbound calls also trust, such as that of your identity provider',
    '',
    parseOptionalPath,
  ),
  oauthEndpoints: defineSetting(
    'oauth-endpoints',
    'FILE',
    'JSON file with other addresses for OAuth providers',
    '',
    parseOptionalPath,
  ),
  roles: defineSetting(
    'roles',
    'LIST',
    `parts to run here: ${ROLES.join(',')}`,
    ROLES.join(','),
    (text, flag) => {
      const names = parseList(text)
      const unknown = names.find((word) => !(ROLES as readonly string[]).includes(word))
      if (unknown !== undefined || names.length === 0)
        throw new CommandFailure(`--${flag} must be one or more of ${ROLES.join(',')}, not "${text}".`)
      return new Set(names as RoleName[])
    },
  ),
  workers: defineSetting(
    'workers',
    'N',
    'processes that carry the traffic and share the public ports; auto: one per core; 1: no separate process',
    'auto',
    (text, flag) => {
      if (text === 'auto') return automaticWorkers()
      const count = /^[0-9]{1,3}$/.test(text) ? Number(text) : 0
      if (count < 1 || count > MAX_WORKERS)
        throw new CommandFailure(
          `--${flag} must be auto or a number from 1 to ${MAX_WORKERS}, not "${text}".`,
        )
      if (count > 1 && process.platform !== 'linux')
        throw new CommandFailure(`--${flag} can only be 1 on this system, not "${text}": workers need Linux.`)
      return count
    },
  ),
  logLevel: defineSetting('log-level', 'LEVEL', 'error, warn, info or debug', 'info', (text, flag) => {
    if (!['error', 'warn', 'info', 'debug', 'silent'].includes(text))
      throw new CommandFailure(`--${flag} must be error, warn, info or debug, not "${text}".`)
    return text
  }),
} satisfies Record<string, SettingDefinition<unknown>>

/** All settings, parsed and validated. */
export type ServerSettings = {
  readonly [Name in keyof typeof definitions]: ReturnType<(typeof definitions)[Name]['parse']>
} & {
  /** Those that flags and variables set, as text by flag. */
  readonly explicit: ReadonlyMap<string, string>
}

/** The path of the master key: the operator's setting, or a file in the data directory. */
export function resolveMasterKeyFile({ masterKeyFile, dataDir }: ServerSettings): string {
  return masterKeyFile ?? join(dataDir, 'master.key')
}

/** The files of the operator's own certificate. */
export function certificatePaths({ tlsCert, tlsKey }: Pick<ServerSettings, 'tlsCert' | 'tlsKey'>) {
  return tlsCert === undefined || tlsKey === undefined ? undefined : { certFile: tlsCert, keyFile: tlsKey }
}

const settings: readonly SettingDefinition<unknown>[] = Object.values(definitions)

/** The names of all flags, without hyphens. */
export const settingFlags: readonly string[] = settings.map(({ name }) => name)

/** The environment variable of a flag. */
export function environmentVariable(flag: string): string {
  return `ADIT_${flag.toUpperCase().replaceAll('-', '_')}`
}

/** The settings of the installed service, in the form of systemd's EnvironmentFile. */
export function settingsFilePath({ ADIT_CONFIG_DIR }: NodeJS.ProcessEnv): string {
  return join(ADIT_CONFIG_DIR || '/etc/adit', 'adit.env')
}

/** Other variables that start with ADIT_: those of the agent and the API client. */
const FOREIGN_VARIABLES = new RegExp(
  `^ADIT_(${[
    'API_KEY|AUTHTOKEN|CONFIG|CONNECT_.*|CONSOLE_UI.*|CRL_.*|DNS_RESOLVER_IPS|HEARTBEAT_.*|INSPECT_.*|LOCAL_STORAGE|LOG.*',
    'METADATA|OUTPUT|PROXY_URL|REGION|REMOTE_MANAGEMENT|RESUME|ROOT_CAS|SERVER_ADDR|UNIT_DIR|UPDATE_.*|WEB_.*',
    'AWS_.*|CONFIG_DIR|MONITORING_URL|TEST_.*',
  ].join('|')})$`,
)

/** Reads flags, then variables, then defaults. Any other argument or variable is an error. */
export function readSettings(args: readonly string[], environment: NodeJS.ProcessEnv): ServerSettings {
  const { settings, rest } = readCommandLine(args, environment)
  if (rest.length > 0) throw unknownFlag(rest[0]!)
  return settings
}

/** The same for a command line with a subcommand: `rest` holds its words and its own switches. */
export function readCommandLine(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
): { settings: ServerSettings; rest: readonly string[] } {
  const { values, rest } = takeFlags(args, settings)
  const variables = new Set(settings.map(({ name }) => environmentVariable(name)))
  for (const variable of Object.keys(environment))
    if (variable.startsWith('ADIT_') && !variables.has(variable) && !FOREIGN_VARIABLES.test(variable))
      throw unknownVariable(variable, variables)

  const explicit = new Map<string, string>()
  const entries = Object.entries<SettingDefinition<unknown>>(definitions).map(([key, setting]) => {
    const { name, fallback, parse } = setting
    const text = values.get(setting)?.at(-1) ?? (environment[environmentVariable(name)] || undefined)
    if (text !== undefined) explicit.set(name, text)
    return [key, parse(text ?? (typeof fallback === 'string' ? fallback : fallback(environment)), name)]
  })
  const result = withDatabaseUrl({ ...Object.fromEntries(entries), explicit } as ServerSettings)
  if (result.proxyProtocol.size > 0 && result.trustedProxies === undefined)
    throw new CommandFailure(
      '--proxy-protocol needs --trusted-proxies: the addresses of the proxies that send the header.',
    )
  if (result.dnsCredentials !== undefined && result.dnsProvider === undefined)
    throw new CommandFailure('--dns-credentials needs --dns-provider: the provider they are for.')
  if ((result.tlsCert === undefined) !== (result.tlsKey === undefined))
    throw new CommandFailure(
      '--tls-cert and --tls-key must be set together: the certificate chain and its private key.',
    )
  if (result.workers > 1 && result.peerAddr !== 'auto' && isAutomatic(result, 'workers'))
    return { settings: { ...result, workers: 1 }, rest }
  if (result.workers > 1 && result.peerAddr === undefined)
    throw new CommandFailure(
      '--workers needs --peer-addr, through which workers reach each other: leave it unset.',
    )
  return { settings: result, rest }
}

/** Reads the URL of the database from its file, if one is named. */
function withDatabaseUrl(settings: ServerSettings): ServerSettings {
  const { databaseUrl, databaseUrlFile: file } = settings
  if (file === undefined) return settings
  if (databaseUrl !== undefined)
    throw new CommandFailure('--database-url and --database-url-file exclude each other: set one of them.')
  let text: string
  try {
    text = readFileSync(file, 'utf8').trim()
  } catch (error) {
    throw new CommandFailure(`--database-url-file: ${file} cannot be read: ${describeFileError(error)}.`)
  }
  if (text === '') throw new CommandFailure(`--database-url-file: ${file} is empty.`)
  const { name } = definitions.databaseUrlFile
  return { ...settings, databaseUrl: definitions.databaseUrl.parse(text, name) }
}

/** A warning if other users of the machine can read the password of the database in the list of processes. */
export function warnOfPassword(args: readonly string[]): string | undefined {
  if (!args.some((argument) => hasPassword(argument.replace(/^--database-url=/, '')))) return undefined
  return 'The password in --database-url is visible to all users of this machine in the process list: use the variable ADIT_DATABASE_URL, or --database-url-file.'
}

function isAutomatic({ explicit }: ServerSettings, flag: string): boolean {
  return (explicit.get(flag) ?? 'auto') === 'auto'
}

/** One for each core, and one for each `WORKER_BYTES` of memory; workers need Linux. */
function automaticWorkers(): number {
  if (process.platform !== 'linux') return 1
  const count = Math.min(availableParallelism(), Math.floor(usableMemory() / WORKER_BYTES), MAX_WORKERS)
  return Math.max(count, 1)
}

/** Whether the machine has cores for several workers, and there is one because the links between nodes have a fixed port. */
export function isLimitedByPeerAddress(settings: ServerSettings): boolean {
  return settings.peerAddr !== 'auto' && isAutomatic(settings, 'workers') && automaticWorkers() > 1
}

function unknownVariable(variable: string, variables: ReadonlySet<string>): CommandFailure {
  const nearest = findNearest(variable, variables)
  const suggestion = nearest === undefined ? '' : ` Did you mean ${nearest}?`
  return new CommandFailure(
    `There is no setting ${variable}.${suggestion} adit server --help lists them all.`,
  )
}

/** The error for an argument that looks like a flag and is none. */
export function unknownFlag(argument: string): CommandFailure {
  const [, name] = /^--([^=]+)/.exec(argument) ?? []
  const nearest =
    name &&
    findNearest(
      name,
      settings.map((setting) => setting.name),
    )
  const suggestion = nearest ? ` Did you mean --${nearest}?` : ''
  return new CommandFailure(
    `"${argument}" is not a flag of adit server.${suggestion} adit server --help lists them all.`,
  )
}

/** The table of settings for `--help`. */
export function formatSettingsHelp(): string {
  return settings
    .map(({ name, value, help, fallback }) => {
      const defaultValue =
        typeof fallback === 'string' ? fallback : '$XDG_DATA_HOME/adit or ~/.local/share/adit'
      const lead = `  --${name} ${value}`
      return `${lead.padEnd(34)}${help}${defaultValue === '' ? '' : ` (default ${defaultValue})`}\n${' '.repeat(34)}${environmentVariable(name)}`
    })
    .join('\n')
}
