import { isIP } from 'node:net'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import { parseDomain } from '../base/domain.ts'
import { parseHostPort } from '../base/hostport.ts'
import { compileRules } from '../base/ip-rules.ts'
import { REGIONS } from '../resources/index.ts'

/** An address to listen on; undefined when the listener is switched off. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
}

/** The parts one process can run. */
export const ROLES = ['api', 'edge', 'gateway', 'dns', 'jobs'] as const
export type RoleName = (typeof ROLES)[number]

/** A start that cannot be: one sentence that names the setting and what to write instead. */
export class BadSetting extends Error {
  override name = 'BadSetting'
}

interface Setting<T> {
  readonly flag: string
  readonly value: string
  readonly help: string
  readonly fallback: string | ((environment: NodeJS.ProcessEnv) => string)
  parse(text: string, flag: string): T
}

function setting<T>(
  flag: string,
  value: string,
  help: string,
  fallback: Setting<T>['fallback'],
  parse: Setting<T>['parse'],
): Setting<T> {
  return { flag, value, help, fallback, parse }
}

function listenAddress(text: string, flag: string): ListenAddress | undefined {
  if (text === 'false') return undefined
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:]+)):([0-9]{1,5})$/.exec(text)
  const port = Number(match?.[3])
  if (match === null || port > 65_535)
    throw new BadSetting(
      `--${flag} is "${text}"; write host:port such as 127.0.0.1:4080, port 0 for any free port, or false to switch it off.`,
    )
  return { host: match[1] ?? match[2]!, port }
}

function dialAddress(text: string, flag: string): string | undefined {
  if (text === '') return undefined
  if (parseHostPort(text)?.port === undefined)
    throw new BadSetting(`--${flag} is "${text}"; write host:port such as 10.0.0.5:4444.`)
  return text
}

function portRange(text: string, flag: string): readonly [number, number] {
  const [, from, to] = /^([0-9]{1,5})-([0-9]{1,5})$/.exec(text) ?? []
  const range = [Number(from), Number(to)] as const
  if (from === undefined || range[0] < 1 || range[1] > 65_535 || range[0] > range[1])
    throw new BadSetting(`--${flag} is "${text}"; write a range of ports such as 20000-20999.`)
  return range
}

function port(text: string, flag: string): number | undefined {
  if (text === '') return undefined
  const number = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0
  if (number < 1 || number > 65_535)
    throw new BadSetting(`--${flag} is "${text}"; write a port from 1 to 65535.`)
  return number
}

function whole(text: string, flag: string): number {
  if (!/^[0-9]{1,9}$/.test(text)) throw new BadSetting(`--${flag} is "${text}"; write a whole number.`)
  return Number(text)
}

const UNIT_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

function duration(text: string, flag: string): number {
  const [, count, unit = ''] = /^([0-9]{1,6})([smhd]?)$/.exec(text) ?? []
  const unitMs = Number(count) === 0 ? 0 : UNIT_MS[unit]
  if (count === undefined || unitMs === undefined)
    throw new BadSetting(
      `--${flag} is "${text}"; write a number with s, m, h or d after it, such as 24h, or 0.`,
    )
  return Number(count) * unitMs
}

function words(text: string): string[] {
  return text
    .split(',')
    .map((word) => word.trim())
    .filter((word) => word !== '')
}

function httpAddress(text: string, flag: string): string | undefined {
  if (text === '') return undefined
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new BadSetting(`--${flag} is "${text}"; write an http or https address.`)
  return text.replace(/\/+$/, '')
}

/** A single address is a range as well. */
function asRange(text: string): string {
  const family = isIP(text)
  return family === 0 ? text : `${text}/${family === 4 ? 32 : 128}`
}

const optional = (text: string) => (text === '' ? undefined : text)
const optionalPath = (text: string) => (text === '' ? undefined : resolve(text))

/** Every setting of `adit server`: its flag, its variable `ADIT_<FLAG>`, its default and what it means. */
const settings = {
  dataDir: setting(
    'data-dir',
    'DIR',
    'where all state is kept',
    (environment) =>
      join(environment.XDG_DATA_HOME || join(environment.HOME || homedir(), '.local', 'share'), 'adit'),
    (text) => resolve(text),
  ),
  databaseUrl: setting(
    'database-url',
    'URL',
    'postgres://… ; SQLite in the data directory when unset',
    '',
    (text, flag) => {
      if (text !== '' && !/^postgres(ql)?:\/\//.test(text))
        throw new BadSetting(
          `--${flag} has to start with postgres://; leave it unset for the embedded database.`,
        )
      // Said here: the library's complaint would carry the whole address, and the password in it.
      if (text !== '' && !URL.canParse(text))
        throw new BadSetting(
          `--${flag} cannot be read. Write postgres://user:password@host:port/database, with special characters percent-encoded.`,
        )
      return optional(text)
    },
  ),
  apiAddr: setting('api-addr', 'HOST:PORT', 'management API and dashboard', '127.0.0.1:4080', listenAddress),
  probeAddr: setting(
    'probe-addr',
    'HOST:PORT',
    '/healthz and /readyz on a listener of their own',
    'false',
    listenAddress,
  ),
  sharedSources: setting(
    'shared-sources',
    'LIST',
    'addresses and CIDR ranges that many clients come from, such as load balancers: no per-source limits',
    '',
    (text, flag) => {
      try {
        return compileRules(words(text).map((cidr) => ({ cidr: asRange(cidr), action: 'allow' as const })))
      } catch (error) {
        throw new BadSetting(`--${flag}: ${(error as Error).message}`)
      }
    },
  ),
  apiUrl: setting('api-url', 'URL', 'base address shown in answers', '', httpAddress),
  apiRateLimit: setting(
    'api-rate-limit',
    'N',
    'calls an account may make in a minute; 0 for no limit',
    '6000',
    whole,
  ),
  loginRateLimit: setting(
    'login-rate-limit',
    'N',
    'SAML messages that are not valid one address may send in a minute; 0 for no limit',
    '60',
    whole,
  ),
  httpAddr: setting('http-addr', 'HOST:PORT', 'public HTTP', '127.0.0.1:8080', listenAddress),
  httpsAddr: setting('https-addr', 'HOST:PORT', 'public HTTPS and TLS', '127.0.0.1:8443', listenAddress),
  publicHttpPort: setting(
    'public-http-port',
    'PORT',
    'HTTP port visitors see, behind a NAT or balancer',
    '',
    port,
  ),
  publicHttpsPort: setting(
    'public-https-port',
    'PORT',
    'HTTPS port visitors see, behind a NAT or balancer',
    '',
    port,
  ),
  tcpHost: setting('tcp-host', 'HOST', 'address public TCP ports are bound to', '127.0.0.1', (text) => text),
  tcpPorts: setting('tcp-ports', 'FROM-TO', 'public TCP ports', '20000-20999', portRange),
  agentAddr: setting('agent-addr', 'HOST:PORT', 'agents', '127.0.0.1:4443', listenAddress),
  agentPublicAddr: setting(
    'agent-public-addr',
    'HOST:PORT',
    'how agents dial this node, told to them for when another fails; false: not told; --agent-addr when unset',
    '',
    (text, flag) => (text === 'false' ? false : dialAddress(text, flag)),
  ),
  sshAddr: setting('ssh-addr', 'HOST:PORT', 'SSH gateway', '127.0.0.1:2222', listenAddress),
  peerAddr: setting(
    'peer-addr',
    'HOST:PORT',
    'where other nodes on the same database reach this one; auto: on this machine, if there may be any',
    'auto',
    (text, flag) => (text === 'auto' ? 'auto' : listenAddress(text, flag)),
  ),
  peerAdvertise: setting(
    'peer-advertise',
    'HOST:PORT',
    'how other nodes dial it, when that is not the address bound',
    '',
    dialAddress,
  ),
  sshHostCa: setting('ssh-host-ca', 'ID', 'SSH authority that certifies the host key', '', optional),
  dnsAddr: setting('dns-addr', 'HOST:PORT', 'DNS over UDP and TCP', '127.0.0.1:5354', listenAddress),
  publicIps: setting(
    'public-ips',
    'LIST',
    'addresses visitors reach this server at, for its DNS answers',
    '127.0.0.1',
    (text, flag) => {
      const wrong = words(text).find((word) => isIP(word) === 0)
      if (wrong !== undefined) throw new BadSetting(`--${flag}: "${wrong}" is not an IP address.`)
      return words(text)
    },
  ),
  dnsResolver: setting(
    'dns-resolver',
    'LIST',
    "servers that look up users' domains; those of the machine when unset",
    '',
    words,
  ),
  domain: setting(
    'domain',
    'NAME',
    'domain under which endpoints get their names',
    'adit.localhost',
    (text, flag) => {
      try {
        return parseDomain(text)
      } catch (error) {
        throw new BadSetting(`--${flag}: ${(error as Error).message}`)
      }
    },
  ),
  nameCooldown: setting(
    'name-cooldown',
    'DURATION',
    'how long a name stays out of reach of other accounts after its last use; 0 for not at all',
    '24h',
    duration,
  ),
  region: setting('region', 'NAME', `one of ${REGIONS.join(', ')}`, 'us', (text, flag) => {
    if (!(REGIONS as readonly string[]).includes(text))
      throw new BadSetting(`--${flag} is "${text}"; write one of ${REGIONS.join(', ')}.`)
    return text
  }),
  masterKeyFile: setting(
    'master-key-file',
    'FILE',
    'key that seals secrets; made in the data directory when unset',
    '',
    optionalPath,
  ),
  acmeDirectory: setting(
    'acme-directory',
    'URL',
    'ACME server for automatic certificates; off when unset',
    '',
    httpAddress,
  ),
  acmeCa: setting('acme-ca', 'FILE', 'certificate authority of a private ACME server', '', optionalPath),
  acmeEmail: setting('acme-email', 'ADDRESS', 'contact for the ACME account', '', optional),
  outboundAllow: setting(
    'outbound-allow',
    'LIST',
    'private addresses and hosts that outbound calls may reach, comma-separated',
    '',
    words,
  ),
  oauthEndpoints: setting(
    'oauth-endpoints',
    'FILE',
    'JSON with other addresses for OAuth providers',
    '',
    optionalPath,
  ),
  roles: setting('roles', 'LIST', `parts to run here: ${ROLES.join(',')}`, ROLES.join(','), (text, flag) => {
    const given = words(text)
    const unknown = given.find((word) => !(ROLES as readonly string[]).includes(word))
    if (unknown !== undefined || given.length === 0)
      throw new BadSetting(`--${flag} is "${text}"; write some of ${ROLES.join(',')}.`)
    return new Set(given as RoleName[])
  }),
  logLevel: setting('log-level', 'LEVEL', 'error, warn, info or debug', 'info', (text, flag) => {
    if (!['error', 'warn', 'info', 'debug', 'silent'].includes(text))
      throw new BadSetting(`--${flag} is "${text}"; write error, warn, info or debug.`)
    return text
  }),
} satisfies Record<string, Setting<unknown>>

/** All settings, read and checked. */
export type Settings = {
  readonly [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]['parse']>
}

/** Where the master key is: where the operator said, or in the data directory. */
export function masterKeyFileOf({ masterKeyFile, dataDir }: Settings): string {
  return masterKeyFile ?? join(dataDir, 'master.key')
}

const byFlag = new Map(Object.entries(settings).map(([name, { flag }]) => [flag, name as keyof Settings]))

/** The environment variable of a flag. */
export function variableOf(flag: string): string {
  return `ADIT_${flag.toUpperCase().replaceAll('-', '_')}`
}

/** Variables beside the settings that start with ADIT_ and belong to the agent or the API client. */
const FOREIGN_VARIABLES = new RegExp(
  `^ADIT_(${[
    'API_KEY|AUTHTOKEN|CONFIG|CONNECT_.*|CONSOLE_UI.*|CRL_.*|DNS_RESOLVER_IPS|HEARTBEAT_.*|INSPECT_.*|LOCAL_STORAGE|LOG.*',
    'METADATA|OUTPUT|PROXY_URL|REGION|REMOTE_MANAGEMENT|RESUME|ROOT_CAS|SERVER_ADDR|UNIT_DIR|UPDATE_.*|WEB_.*',
    'AWS_.*|MONITORING_URL|TEST_.*',
  ].join('|')})$`,
)

/** Reads flags, then variables, then defaults. Anything unknown stops the start with one clear sentence. */
export function readSettings(args: readonly string[], environment: NodeJS.ProcessEnv): Settings {
  const given = new Map<keyof Settings, string>()
  for (let at = 0; at < args.length; at++) {
    const [, flag, inline] = /^--([a-z-]+)(?:=(.*))?$/s.exec(args[at]!) ?? []
    const name = flag === undefined ? undefined : byFlag.get(flag)
    if (name === undefined)
      throw new BadSetting(
        `"${args[at]}" is not a flag of adit server.${nearest(flag ?? '')} adit server --help lists them all.`,
      )
    const value = inline ?? args[++at]
    if (value === undefined) throw new BadSetting(`--${flag} needs a value.`)
    given.set(name, value)
  }
  const variables = new Set(Object.values(settings).map(({ flag }) => variableOf(flag)))
  for (const variable of Object.keys(environment))
    if (variable.startsWith('ADIT_') && !variables.has(variable) && !FOREIGN_VARIABLES.test(variable))
      throw new BadSetting(`There is no setting ${variable}. adit server --help lists them all.`)

  const read: Record<string, unknown> = {}
  for (const [name, { flag, fallback, parse }] of Object.entries(settings) as [
    keyof Settings,
    Setting<unknown>,
  ][]) {
    const variable = environment[variableOf(flag)]
    const standard = typeof fallback === 'string' ? fallback : fallback(environment)
    read[name] = parse(
      given.get(name) ?? (variable === undefined || variable === '' ? standard : variable),
      flag,
    )
  }
  return read as Settings
}

function nearest(flag: string): string {
  const start = [...byFlag.keys()].find((known) => known.startsWith(flag.slice(0, 4)) && flag.length >= 4)
  return start === undefined ? '' : ` Did you mean --${start}?`
}

/** The table of settings for `--help`. */
export function settingsHelp(): string {
  return Object.values(settings)
    .map(({ flag, value, help, fallback }) => {
      const standard = typeof fallback === 'string' ? fallback : '$XDG_DATA_HOME/adit or ~/.local/share/adit'
      const lead = `  --${flag} ${value}`
      return `${lead.padEnd(34)}${help}${standard === '' ? '' : ` (default ${standard})`}\n${' '.repeat(34)}${variableOf(flag)}`
    })
    .join('\n')
}
