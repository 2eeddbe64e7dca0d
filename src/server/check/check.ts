import { randomBytes } from 'node:crypto'
import { isIPv4 } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { isWithin } from '../../base/domain.ts'
import { isPublicAddress } from '../../base/outbound/public-address.ts'
import type { NameResolver } from '../../certs/index.ts'
import { type DirectAnswer, nameServersOf } from '../../dns/index.ts'
import type { Settings } from '../settings.ts'

/** One link of the chain from a visitor to this server, and what to do when it is broken. */
export interface Finding {
  readonly link: string
  readonly state: 'ok' | 'failed' | 'skipped'
  readonly found: string
  readonly todo?: string
}

/** The settings that a set-up consists of. */
export type CheckedSettings = Pick<
  Settings,
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

/** The world a set-up is checked against. */
export interface CheckWorld {
  readonly resolver: NameResolver
  /** Resolves when something accepts a connection there. */
  dial(host: string, port: number): Promise<void>
  askDns(host: string, port: number, name: string, transport: 'udp' | 'tcp'): Promise<DirectAnswer>
  /** Whether a browser would accept the certificate served for a name, and if not why. */
  certificate(host: string, port: number, name: string): Promise<{ trusted: boolean; reason: string }>
  fetch(url: string): Promise<Response>
  readonly clock: Clock
}

const DNS_PORT = 53
const CLOCK_TOLERANCE_MS = 60_000

/** Walks everything that has to be right for visitors to arrive, from the domain's name to the clock. */
export async function checkSetup(settings: CheckedSettings, world: CheckWorld): Promise<Finding[]> {
  const { domain } = settings
  if (!domain.includes('.') || isWithin(domain, 'localhost'))
    return [
      {
        link: 'domain',
        state: 'skipped',
        found: `${domain} is known to this machine alone, so there is no public set-up to check.`,
        todo: 'To serve others, start the server with --domain and a name of your own, such as tunnels.example.com.',
      },
    ]
  const authority = await checkAuthority(settings, world)
  return [
    checkAddresses(settings),
    ...(await checkPorts(settings, world)),
    ...(await checkDnsServer(settings, world)),
    ...(await checkNames(settings, world)),
    await checkCertificate(settings, world),
    ...authority,
  ]
}

/** The findings as text, the broken links with what to do about them. */
export function describeFindings(findings: readonly Finding[]): string {
  const marks = { ok: 'ok    ', failed: 'FAILED', skipped: '-     ' }
  const lines = findings.flatMap(({ link, state, found, todo }) => [
    `${marks[state]}  ${link.padEnd(22)}${found}`,
    ...(todo === undefined ? [] : todo.split('\n').map((line) => `${' '.repeat(30)}${line}`)),
  ])
  const failed = findings.filter(({ state }) => state === 'failed').length
  const end =
    failed === 0
      ? 'Nothing is broken.'
      : `${failed} ${failed === 1 ? 'link is' : 'links are'} broken. Mend the first one first: later ones may follow from it.`
  return `${lines.join('\n')}\n\n${end}\n`
}

function checkAddresses({ publicIps }: CheckedSettings): Finding {
  const inside = publicIps.filter((address) => !isPublicAddress(address))
  const link = 'public addresses'
  if (publicIps.length > 0 && inside.length === 0) return { link, state: 'ok', found: publicIps.join(', ') }
  return {
    link,
    state: 'failed',
    found: publicIps.length === 0 ? 'none are set' : `nobody outside can reach ${inside.join(', ')}`,
    todo: 'Start the server with --public-ips and the public addresses of this machine.',
  }
}

async function checkPorts(settings: CheckedSettings, { dial: knock }: CheckWorld): Promise<Finding[]> {
  const [host] = settings.publicIps
  const { httpAddr, httpsAddr, agentAddr, sshAddr } = settings
  const ports: [string, { port: number } | undefined, number | undefined, string][] = [
    ['http port', httpAddr, settings.publicHttpPort, 'http-addr'],
    ['https port', httpsAddr, settings.publicHttpsPort, 'https-addr'],
    ['agent port', agentAddr, undefined, 'agent-addr'],
    ['ssh port', sshAddr, undefined, 'ssh-addr'],
  ]
  return Promise.all(
    ports.map(async ([link, addr, outside, flag]): Promise<Finding> => {
      if (addr === undefined) return { link, state: 'skipped', found: `switched off with --${flag} false` }
      const port = outside ?? addr.port
      const at = `${host}:${port}`
      try {
        await knock(host ?? '', port)
      } catch (error) {
        return {
          link,
          state: 'failed',
          found: `nothing answers at ${at} (${reasonOf(error)})`,
          todo: `Check that the server runs, that --${flag} binds an address the outside can reach (such as 0.0.0.0:${port}),\nand that the firewall lets TCP port ${port} in.`,
        }
      }
      if (link === 'http port' && port !== 80)
        return {
          link,
          state: 'failed',
          found: `answers at ${at}, but certificate authorities come to port 80`,
          todo: 'Bind --http-addr to port 80, or forward port 80 there and say so with --public-http-port 80.',
        }
      return { link, state: 'ok', found: `answers at ${at}` }
    }),
  )
}

async function checkDnsServer(
  { domain, dnsAddr, publicIps }: CheckedSettings,
  world: CheckWorld,
): Promise<Finding[]> {
  const link = 'own DNS server'
  if (dnsAddr === undefined)
    return [
      {
        link,
        state: 'skipped',
        found: 'switched off; wildcard certificates and agent ingresses need it',
      },
    ]
  const host = publicIps[0] ?? ''
  return Promise.all(
    (['udp', 'tcp'] as const).map(async (transport): Promise<Finding> => {
      const name = `${link} (${transport})`
      const todo = `Resolvers come to port ${DNS_PORT}. Bind --dns-addr to it (such as 0.0.0.0:${DNS_PORT}) and let ${transport.toUpperCase()} port ${DNS_PORT} in.`
      try {
        const answer = await world.askDns(host, DNS_PORT, domain, transport)
        if (answer.authoritative && answer.answers > 0)
          return { link: name, state: 'ok', found: `answers for ${domain} at ${host}:${DNS_PORT}` }
        return {
          link: name,
          state: 'failed',
          found: `another server answers at ${host}:${DNS_PORT} (${answer.rcode})`,
          todo: `Stop whatever listens on port ${DNS_PORT} there. ${todo}`,
        }
      } catch (error) {
        return {
          link: name,
          state: 'failed',
          found: `no answer at ${host}:${DNS_PORT} (${reasonOf(error)})`,
          todo,
        }
      }
    }),
  )
}

async function checkNames(
  { domain, publicIps }: CheckedSettings,
  { resolver }: CheckWorld,
): Promise<Finding[]> {
  const servers = nameServersOf(domain)
  const label = `check-${randomBytes(4).toString('hex')}`
  const addressRecords = (name: string) =>
    publicIps.map((address) => `${name}. ${isIPv4(address) ? 'A' : 'AAAA'} ${address}`).join('\n')
  const delegation = [
    `Where ${parentOf(domain)} is managed, create:`,
    ...servers.slice(0, 2).map((server) => `${domain}. NS ${server}.`),
    ...servers.slice(0, 2).map((server, index) => {
      const address = publicIps[index % publicIps.length] ?? ''
      return `${server}. ${isIPv4(address) ? 'A' : 'AAAA'} ${address}   (glue)`
    }),
  ].join('\n')

  const leadsHere = async (link: string, name: string, todo: string): Promise<Finding> => {
    const found = await resolver.addresses(name).catch(reasonOf)
    if (typeof found === 'string') return { link, state: 'failed', found: `${name}: ${found}`, todo }
    if (found.length === 0) return { link, state: 'failed', found: `${name} does not resolve`, todo }
    const elsewhere = found.filter((address) => !publicIps.includes(address))
    if (elsewhere.length > 0)
      return { link, state: 'failed', found: `${name} leads to ${elsewhere.join(', ')}`, todo }
    return { link, state: 'ok', found: `${name} leads here` }
  }
  const delegated = async (link: string, name: string, todo: string): Promise<Finding> => {
    const found = await resolver.ns(name).catch(reasonOf)
    if (typeof found === 'string') return { link, state: 'failed', found: `${name}: ${found}`, todo }
    const foreign = found.filter((server) => !servers.includes(server))
    if (found.length > 0 && foreign.length === 0)
      return { link, state: 'ok', found: `${name} is delegated to this server` }
    const state = found.length === 0 ? 'is not delegated' : `is delegated to ${foreign.join(', ')}`
    return { link, state: 'failed', found: `${name} ${state}`, todo }
  }

  const whole = await delegated('delegation', domain, delegation)
  const records = `Delegate ${domain} as above, or create where it is managed:\n`
  const parts = [
    await leadsHere('domain', domain, `${records}${addressRecords(domain)}`),
    await leadsHere('wildcard', `${label}.${domain}`, `${records}${addressRecords(`*.${domain}`)}`),
    await leadsHere(
      'CNAME targets',
      `${label}.${label}.cname.${domain}`,
      `${records}${addressRecords(`*.cname.${domain}`)}`,
    ),
    await delegated(
      'challenges',
      `acme-challenge.${domain}`,
      `${records}acme-challenge.${domain}. NS ${servers[0]}.\n_acme-challenge.${domain}. CNAME platform.acme-challenge.${domain}.`,
    ),
  ]
  // A domain may stay with another provider, if all that it needs is there.
  const complete = whole.state === 'failed' && parts.every(({ state }) => state === 'ok')
  return [
    complete
      ? { link: whole.link, state: 'skipped', found: `${whole.found}, and its records there are complete` }
      : whole,
    ...parts,
  ]
}

async function checkCertificate(settings: CheckedSettings, world: CheckWorld): Promise<Finding> {
  const { domain, publicIps, httpsAddr, publicHttpsPort, acmeDirectory } = settings
  const link = 'certificate'
  if (httpsAddr === undefined) return { link, state: 'skipped', found: 'HTTPS is switched off' }
  const name = `check.${domain}`
  try {
    const seen = await world.certificate(publicIps[0] ?? '', publicHttpsPort ?? httpsAddr.port, name)
    if (seen.trusted) return { link, state: 'ok', found: `what is served for ${name} is trusted` }
    return {
      link,
      state: 'failed',
      found: `browsers will not accept what is served for ${name} (${seen.reason})`,
      todo:
        acmeDirectory === undefined
          ? 'Set --acme-directory and --acme-email, so that the server gets certificates by itself.'
          : 'Once the links above are in order this mends itself; "adit server certs" says how far it is.',
    }
  } catch (error) {
    return {
      link,
      state: 'failed',
      found: `no TLS connection (${reasonOf(error)})`,
      todo: 'See the https port above.',
    }
  }
}

async function checkAuthority({ acmeDirectory }: CheckedSettings, world: CheckWorld): Promise<Finding[]> {
  if (acmeDirectory === undefined)
    return [
      {
        link: 'ACME directory',
        state: 'failed',
        found: 'none is set, so automatic certificates are off',
        todo: 'Start the server with --acme-directory https://acme-v02.api.letsencrypt.org/directory and --acme-email.',
      },
      { link: 'clock', state: 'skipped', found: 'there is no authority to compare it with' },
    ]
  try {
    const response = await world.fetch(acmeDirectory)
    const directory = (await response.json().catch(() => undefined)) as { newOrder?: string } | undefined
    if (response.status !== 200 || typeof directory?.newOrder !== 'string')
      return [
        {
          link: 'ACME directory',
          state: 'failed',
          found: `${acmeDirectory} answers with ${response.status} and is no ACME directory`,
          todo: 'Check the address in --acme-directory.',
        },
        checkClock(response, world.clock),
      ]
    return [
      { link: 'ACME directory', state: 'ok', found: `${acmeDirectory} answers` },
      checkClock(response, world.clock),
    ]
  } catch (error) {
    return [
      {
        link: 'ACME directory',
        state: 'failed',
        found: reasonOf(error),
        todo: 'Let this machine reach it. A private one needs its authority in --acme-ca, and its address in --outbound-allow.',
      },
      { link: 'clock', state: 'skipped', found: 'there is no authority to compare it with' },
    ]
  }
}

function checkClock(response: Response, clock: Clock): Finding {
  const theirs = Date.parse(response.headers.get('date') ?? '')
  if (Number.isNaN(theirs)) return { link: 'clock', state: 'skipped', found: 'the authority tells no time' }
  const away = clock.now() - theirs
  if (Math.abs(away) <= CLOCK_TOLERANCE_MS) return { link: 'clock', state: 'ok', found: 'right' }
  const seconds = Math.round(Math.abs(away) / 1000)
  return {
    link: 'clock',
    state: 'failed',
    found: `${seconds} s ${away > 0 ? 'ahead' : 'behind'}`,
    todo: 'Set the clock, and keep it set: timedatectl set-ntp true',
  }
}

function parentOf(name: string): string {
  return name.slice(name.indexOf('.') + 1)
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return (error as Error).name === 'AbortError' || (error as Error).name === 'TimeoutError'
    ? 'no answer in time'
    : message || code || 'failed'
}
