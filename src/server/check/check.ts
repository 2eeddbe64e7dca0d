import { randomBytes } from 'node:crypto'
import { isIPv4 } from 'node:net'
import { isPublicAddress } from '../../base/outbound/public-address.ts'
import { type Clock, formatTimestamp } from '../../base/values/clock.ts'
import { isWithin } from '../../base/values/domain.ts'
import {
  EXPIRY_WARNING_MS,
  type FileCertificate,
  type NameResolver,
  ResolverError,
} from '../../certs/index.ts'
import { type DirectResponse, nameServerNames } from '../../dns/index.ts'
import type { PostgresProbe } from '../../store/index.ts'
import type { ServerSettings } from '../settings/settings.ts'

/** The result of one check of the path from a visitor to this server, with a remedy if it failed. */
export interface CheckResult {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'failed' | 'skipped'
  readonly detail: string
  readonly remedy?: string
}

/** The settings that the checks depend on. */
export type CheckedSettings = Pick<
  ServerSettings,
  | 'domain'
  | 'publicIps'
  | 'httpAddr'
  | 'httpsAddr'
  | 'agentAddr'
  | 'sshAddr'
  | 'dnsAddr'
  | 'publicHttpPort'
  | 'publicHttpsPort'
  | 'acmeDirectory'
>

/** Probes of the machine and the network; tests replace them. */
export interface SystemProbes {
  readonly resolver: NameResolver
  /** Resolves when something accepts a connection there. */
  dial(host: string, port: number): Promise<void>
  queryDns(host: string, port: number, name: string, transport: 'udp' | 'tcp'): Promise<DirectResponse>
  /** Whether a browser would accept the certificate served for a name, and if not why. */
  certificate(host: string, port: number, name: string): Promise<{ trusted: boolean; reason: string }>
  fetch(url: string): Promise<Response>
  /**
   * Where the DNS provider publishes a challenge record; undefined when our own name server answers for it. Throws when the
   * provider cannot. Absent without a provider.
   */
  readonly locateChallenge?: ((name: string) => Promise<string | undefined>) | undefined
  /** The certificate in the operator's files; throws when it cannot be served. Absent without such files. */
  readonly readFiles?: (() => Promise<FileCertificate>) | undefined
  readonly clock: Clock
}

const DNS_PORT = 53
const CLOCK_TOLERANCE_MS = 60_000

/** Checks everything visitors depend on, from the domain to the clock. */
export async function checkSetup(settings: CheckedSettings, probes: SystemProbes): Promise<CheckResult[]> {
  const { domain } = settings
  if (!domain.includes('.') || isWithin(domain, 'localhost'))
    return [
      ...(await checkCertificateFiles(settings, probes)),
      {
        check: 'domain',
        state: 'skipped',
        detail: `${domain} exists only on this machine, so there is no public setup to check.`,
        remedy:
          'To serve others, start the server with --domain and a name of your own, such as tunnels.example.com.',
      },
    ]
  const authority = await checkAuthority(settings, probes)
  return [
    checkAddresses(settings),
    ...(await checkPorts(settings, probes)),
    ...(await checkDnsServer(settings, probes)),
    ...(await checkNames(settings, probes)),
    ...(await checkCertificateFiles(settings, probes)),
    await checkCertificate(settings, probes),
    ...authority,
  ]
}

/** Checks what can be checked before the server runs: its addresses, the records of its domain, the authority, the clock. */
export async function checkNetwork(settings: CheckedSettings, probes: SystemProbes): Promise<CheckResult[]> {
  return [
    checkAddresses(settings),
    ...((await awaitsNameServer(settings, probes)) ?? (await checkNames(settings, probes))),
    ...(await checkCertificateFiles(settings, probes)),
    ...(await checkAuthority(settings, probes)),
  ]
}

/** Nothing can be said of a domain whose name servers do not answer, because they are this server. */
async function awaitsNameServer(
  { domain, dnsAddr }: CheckedSettings,
  { resolver }: SystemProbes,
): Promise<CheckResult[] | undefined> {
  if (dnsAddr === undefined) return undefined
  const error = await resolver.ns(domain).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(error instanceof ResolverError && error.source === 'domain')) return undefined
  const detail = `the name servers of ${domain} do not answer yet; its records are checked once this server runs`
  return [{ check: 'delegation', state: 'skipped', detail }]
}

/** Formats the results, failed checks with their remedy. */
export function formatResults(findings: readonly CheckResult[]): string {
  const marks = { ok: 'ok    ', warning: 'WARN  ', failed: 'FAILED', skipped: '-     ' }
  const lines = findings.flatMap(({ check, state, detail, remedy }) => [
    `${marks[state]}  ${check.padEnd(22)}${detail}`,
    ...(remedy === undefined ? [] : remedy.split('\n').map((line) => `${' '.repeat(30)}${line}`)),
  ])
  const failed = findings.filter(({ state }) => state === 'failed').length
  const end =
    failed === 0
      ? 'All checks passed.'
      : `${failed} ${failed === 1 ? 'check' : 'checks'} failed. Start with the first: it may cause the others.`
  return `${lines.join('\n')}\n\n${end}\n`
}

function checkAddresses({ publicIps }: CheckedSettings): CheckResult {
  const privateAddresses = publicIps.filter((address) => !isPublicAddress(address))
  const check = 'public addresses'
  if (publicIps.length > 0 && privateAddresses.length === 0)
    return { check, state: 'ok', detail: publicIps.join(', ') }
  return {
    check,
    state: 'failed',
    detail:
      publicIps.length === 0 ? 'none are set' : `not reachable from outside: ${privateAddresses.join(', ')}`,
    remedy: 'Start the server with --public-ips and the public addresses of this machine.',
  }
}

async function checkPorts(settings: CheckedSettings, { dial }: SystemProbes): Promise<CheckResult[]> {
  const [host] = settings.publicIps
  const { httpAddr, httpsAddr, agentAddr, sshAddr } = settings
  const ports: [string, { port: number } | undefined, number | undefined, string][] = [
    ['http port', httpAddr, settings.publicHttpPort, 'http-addr'],
    ['https port', httpsAddr, settings.publicHttpsPort, 'https-addr'],
    ['agent port', agentAddr, undefined, 'agent-addr'],
    ['ssh port', sshAddr, undefined, 'ssh-addr'],
  ]
  return Promise.all(
    ports.map(async ([check, addr, publicPort, flag]): Promise<CheckResult> => {
      if (addr === undefined) return { check, state: 'skipped', detail: `switched off with --${flag} false` }
      const port = publicPort ?? addr.port
      const address = `${host}:${port}`
      try {
        await dial(host ?? '', port)
      } catch (error) {
        return {
          check,
          state: 'failed',
          detail: `nothing answers at ${address} (${describeError(error)})`,
          remedy: `Check that the server is running, that --${flag} binds an address reachable from outside (such as 0.0.0.0:${port}),\nand that the firewall allows TCP port ${port}.`,
        }
      }
      if (check === 'http port' && port !== 80)
        return {
          check,
          state: 'failed',
          detail: `answers at ${address}, but certificate authorities connect to port 80`,
          remedy: 'Bind --http-addr to port 80, or forward port 80 to it and set --public-http-port 80.',
        }
      return { check, state: 'ok', detail: `answers at ${address}` }
    }),
  )
}

async function checkDnsServer(
  { domain, dnsAddr, publicIps }: CheckedSettings,
  probes: SystemProbes,
): Promise<CheckResult[]> {
  const check = 'own DNS server'
  if (dnsAddr === undefined)
    return [
      {
        check,
        state: 'skipped',
        detail:
          probes.locateChallenge === undefined
            ? 'switched off; wildcard certificates need it or a --dns-provider, agent ingresses need it'
            : 'switched off; agent ingresses need it',
      },
    ]
  const host = publicIps[0] ?? ''
  return Promise.all(
    (['udp', 'tcp'] as const).map(async (transport): Promise<CheckResult> => {
      const name = `${check} (${transport})`
      const remedy = `Resolvers use port ${DNS_PORT}. Bind --dns-addr to it (such as 0.0.0.0:${DNS_PORT}) and allow ${transport.toUpperCase()} port ${DNS_PORT} in the firewall.`
      try {
        const response = await probes.queryDns(host, DNS_PORT, domain, transport)
        if (response.authoritative && response.answers > 0)
          return { check: name, state: 'ok', detail: `answers for ${domain} at ${host}:${DNS_PORT}` }
        return {
          check: name,
          state: 'failed',
          detail: `another server answers at ${host}:${DNS_PORT} (${response.rcode})`,
          remedy: `Stop whatever listens on port ${DNS_PORT} there. ${remedy}`,
        }
      } catch (error) {
        return {
          check: name,
          state: 'failed',
          detail: `no answer at ${host}:${DNS_PORT} (${describeError(error)})`,
          remedy,
        }
      }
    }),
  )
}

async function checkNames(
  { domain, publicIps, acmeDirectory }: CheckedSettings,
  { resolver, locateChallenge, readFiles }: SystemProbes,
): Promise<CheckResult[]> {
  const servers = nameServerNames(domain)
  const label = `check-${randomBytes(4).toString('hex')}`
  const addressRecords = (name: string) =>
    publicIps.map((address) => `${name}. ${isIPv4(address) ? 'A' : 'AAAA'} ${address}`).join('\n')
  const delegation = [
    `In the DNS zone of ${parentOf(domain)}, create:`,
    ...servers.slice(0, 2).map((server) => `${domain}. NS ${server}.`),
    ...servers.slice(0, 2).map((server, index) => {
      const address = publicIps[index % publicIps.length] ?? ''
      return `${server}. ${isIPv4(address) ? 'A' : 'AAAA'} ${address}   (glue)`
    }),
  ].join('\n')

  const checkAddresses = async (check: string, name: string, remedy: string): Promise<CheckResult> => {
    const addresses = await resolver.addresses(name).catch(describeError)
    if (typeof addresses === 'string')
      return { check, state: 'failed', detail: `${name}: ${addresses}`, remedy }
    if (addresses.length === 0) return { check, state: 'failed', detail: `${name} does not resolve`, remedy }
    const foreign = addresses.filter((address) => !publicIps.includes(address))
    if (foreign.length > 0)
      return { check, state: 'failed', detail: `${name} resolves to ${foreign.join(', ')}`, remedy }
    return { check, state: 'ok', detail: `${name} resolves to this server` }
  }
  const checkDelegation = async (check: string, name: string, remedy: string): Promise<CheckResult> => {
    const nameServers = await resolver.ns(name).catch(describeError)
    if (typeof nameServers === 'string')
      return { check, state: 'failed', detail: `${name}: ${nameServers}`, remedy }
    const foreign = nameServers.filter((server) => !servers.includes(server))
    if (nameServers.length > 0 && foreign.length === 0)
      return { check, state: 'ok', detail: `${name} is delegated to this server` }
    const state = nameServers.length === 0 ? 'is not delegated' : `is delegated to ${foreign.join(', ')}`
    return { check, state: 'failed', detail: `${name} ${state}`, remedy }
  }

  const checkChallenges = (): Promise<CheckResult> =>
    locateChallenge === undefined
      ? checkDelegation(
          'challenges',
          `acme-challenge.${domain}`,
          `${preamble}acme-challenge.${domain}. NS ${servers[0]}.\n_acme-challenge.${domain}. CNAME platform.acme-challenge.${domain}.\nOr let the server publish challenges through your DNS provider: --dns-provider.`,
        )
      : checkProvider(domain, locateChallenge)

  const zone = await checkDelegation('delegation', domain, delegation)
  const preamble = `Delegate ${domain} as above, or create in its DNS zone:\n`
  const records = [
    await checkAddresses('domain', domain, `${preamble}${addressRecords(domain)}`),
    await checkAddresses('wildcard', `${label}.${domain}`, `${preamble}${addressRecords(`*.${domain}`)}`),
    await checkAddresses(
      'CNAME targets',
      `${label}.${label}.cname.${domain}`,
      `${preamble}${addressRecords(`*.cname.${domain}`)}`,
    ),
    ...(acmeDirectory === undefined && readFiles !== undefined ? [] : [await checkChallenges()]),
  ]
  // A domain may stay with another provider if its records there are complete.
  const complete = zone.state === 'failed' && records.every(({ state }) => state === 'ok')
  return [
    complete
      ? { check: zone.check, state: 'skipped', detail: `${zone.detail}, and its records there are complete` }
      : zone,
    ...records,
  ]
}

async function checkProvider(
  domain: string,
  locate: NonNullable<SystemProbes['locateChallenge']>,
): Promise<CheckResult> {
  const check = 'challenges'
  try {
    const location = await locate(`_acme-challenge.${domain}`)
    const detail =
      location === undefined
        ? `${domain} is delegated to this server, so the DNS provider is not needed`
        : `the DNS provider publishes them at ${location}`
    return { check, state: 'ok', detail }
  } catch (error) {
    return {
      check,
      state: 'failed',
      detail: describeError(error),
      remedy:
        'Check --dns-provider, and the credentials in the environment or the file of --dns-credentials.',
    }
  }
}

/** The name of the check of the operator's own certificate. */
export const CERTIFICATE_FILES = 'certificate files'
const DAY_MS = 24 * 60 * 60 * 1000

/** Whether the server can serve the operator's own certificate, and for how long. */
async function checkCertificateFiles(
  { domain }: CheckedSettings,
  { readFiles, clock }: SystemProbes,
): Promise<CheckResult[]> {
  if (readFiles === undefined) return []
  const check = CERTIFICATE_FILES
  try {
    const { names, notAfter } = await readFiles()
    const days = Math.floor((notAfter - clock.now()) / DAY_MS)
    const detail = `for ${names.join(' and ')}, ${days < 0 ? 'expired' : 'valid until'} ${formatTimestamp(notAfter)}`
    const renewal = 'Renew the certificate and replace the files; the server reloads them automatically.'
    if (days < 0) return [{ check, state: 'failed', detail, remedy: renewal }]
    if (notAfter - clock.now() < EXPIRY_WARNING_MS)
      return [{ check, state: 'warning', detail: `${detail}, in ${days} days`, remedy: renewal }]
    if (!names.includes(domain))
      return [
        {
          check,
          state: 'warning',
          detail,
          remedy: `${domain} itself gets another certificate: an automatic one, or one from the private root.`,
        },
      ]
    return [{ check, state: 'ok', detail }]
  } catch (error) {
    return [
      { check, state: 'failed', detail: describeError(error), remedy: 'Correct --tls-cert and --tls-key.' },
    ]
  }
}

async function checkCertificate(settings: CheckedSettings, probes: SystemProbes): Promise<CheckResult> {
  const { domain, publicIps, httpsAddr, publicHttpsPort, acmeDirectory } = settings
  const check = 'certificate'
  if (httpsAddr === undefined) return { check, state: 'skipped', detail: 'HTTPS is switched off' }
  const name = `check.${domain}`
  try {
    const certificate = await probes.certificate(publicIps[0] ?? '', publicHttpsPort ?? httpsAddr.port, name)
    if (certificate.trusted)
      return { check, state: 'ok', detail: `the certificate served for ${name} is trusted` }
    return {
      check,
      state: 'failed',
      detail: `browsers will not trust the certificate served for ${name} (${certificate.reason})`,
      remedy:
        probes.readFiles !== undefined
          ? 'Does the file of --tls-cert contain the whole chain, leaf first?'
          : acmeDirectory === undefined
            ? 'Set --acme-directory and --acme-email to get certificates automatically.'
            : 'This resolves itself once the checks above pass; "adit server certs" shows the progress.',
    }
  } catch (error) {
    return {
      check,
      state: 'failed',
      detail: `no TLS connection (${describeError(error)})`,
      remedy: 'See the https port above.',
    }
  }
}

async function checkAuthority(
  { acmeDirectory }: CheckedSettings,
  probes: SystemProbes,
): Promise<CheckResult[]> {
  if (acmeDirectory === undefined && probes.readFiles !== undefined)
    return [
      {
        check: 'ACME directory',
        state: 'skipped',
        detail: "none is set: users' own domains get certificates from the private root",
      },
    ]
  if (acmeDirectory === undefined)
    return [
      {
        check: 'ACME directory',
        state: 'failed',
        detail: 'none is set, so automatic certificates are off',
        remedy:
          'Start the server with --acme-directory https://acme-v02.api.letsencrypt.org/directory and --acme-email.',
      },
      { check: 'clock', state: 'skipped', detail: 'there is no authority to compare it with' },
    ]
  try {
    const response = await probes.fetch(acmeDirectory)
    const directory = (await response.json().catch(() => undefined)) as { newOrder?: string } | undefined
    if (response.status !== 200 || typeof directory?.newOrder !== 'string')
      return [
        {
          check: 'ACME directory',
          state: 'failed',
          detail: `${acmeDirectory} answered ${response.status} and is not an ACME directory`,
          remedy: 'Check the address in --acme-directory.',
        },
        checkClock(response, probes.clock),
      ]
    return [
      { check: 'ACME directory', state: 'ok', detail: `${acmeDirectory} answers` },
      checkClock(response, probes.clock),
    ]
  } catch (error) {
    return [
      {
        check: 'ACME directory',
        state: 'failed',
        detail: describeError(error),
        remedy:
          'Allow this machine to reach it. A private one also needs its authority in --acme-ca and its address in --outbound-allow.',
      },
      { check: 'clock', state: 'skipped', detail: 'there is no authority to compare it with' },
    ]
  }
}

/** Whether the database accepts this server and lets it do what it needs to, and whether its clock agrees with the machine's. */
export async function checkDatabase(
  probe: () => Promise<PostgresProbe | string>,
  clock: Clock,
): Promise<CheckResult[]> {
  const database = await probe()
  if (typeof database === 'string')
    return [
      {
        check: 'database',
        state: 'failed',
        detail: database,
        remedy:
          'Check that it is running and accepts this machine, and check the user, password and database in --database-url.',
      },
    ]
  return [
    { check: 'database', ...checkRights(database) },
    { ...compareClocks(database.time, clock), check: 'clock of the database' },
  ]
}

function checkRights({
  user,
  missingGrants,
  needsMigration,
  mayMigrate,
}: PostgresProbe): Omit<CheckResult, 'check'> {
  if (missingGrants.length > 0)
    return {
      state: 'failed',
      detail: `the user ${user} lacks permissions`,
      remedy: `As the owner of the tables:\n${missingGrants.join('\n')}`,
    }
  if (mayMigrate) return { state: 'ok', detail: 'accepts this server' }
  if (!needsMigration)
    return {
      state: 'ok',
      detail: `accepts this server; ${user} may not change tables, which an upgrade may require`,
    }
  return {
    state: 'failed',
    detail: `this release has to change tables, but the user ${user} may not`,
    remedy: 'As the owner of the tables: ADIT_DATABASE_URL=… adit server migrate',
  }
}

function checkClock(response: Response, clock: Clock): CheckResult {
  const authorityTime = Date.parse(response.headers.get('date') ?? '')
  if (Number.isNaN(authorityTime))
    return { check: 'clock', state: 'skipped', detail: 'the authority sends no date' }
  return compareClocks(authorityTime, clock)
}

function compareClocks(otherTime: number, clock: Clock): CheckResult {
  const skew = clock.now() - otherTime
  if (Math.abs(skew) <= CLOCK_TOLERANCE_MS) return { check: 'clock', state: 'ok', detail: 'right' }
  const seconds = Math.round(Math.abs(skew) / 1000)
  return {
    check: 'clock',
    state: 'failed',
    detail: `${seconds} s ${skew > 0 ? 'ahead' : 'behind'}`,
    remedy: 'Set the clock and keep it synchronized: timedatectl set-ntp true',
  }
}

function parentOf(name: string): string {
  return name.slice(name.indexOf('.') + 1)
}

function describeError(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return (error as Error).name === 'AbortError' || (error as Error).name === 'TimeoutError'
    ? 'no answer in time'
    : message || code || 'failed'
}
