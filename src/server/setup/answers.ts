import { networkInterfaces } from 'node:os'
import { createInterface } from 'node:readline/promises'
import { isPublicAddress } from '../../base/outbound/public-address.ts'
import { CommandFailure } from '../../base/process/command-line.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { isLocalDomain } from '../../base/values/local-domain.ts'
import { environmentVariable, readSettings, type ServerSettings } from '../settings/settings.ts'

const LETS_ENCRYPT = 'https://acme-v02.api.letsencrypt.org/directory'
export const DEFAULT_DATA_DIR = '/var/lib/adit'

/** The settings of a server on a public domain, as text by variable, and parsed. */
export interface Answers {
  readonly values: ReadonlyMap<string, string>
  readonly settings: ServerSettings
}

type Ask = (question: string, fallback?: string) => Promise<string>

/** Asks on the terminal. */
async function withPrompt<T>(work: (ask: Ask) => Promise<T>): Promise<T> {
  const prompt = createInterface({ input: process.stdin, output: process.stdout })
  // Otherwise a closed terminal leaves the question pending, and the process ends without a word.
  const closed = new Promise<undefined>((resolve) => prompt.once('close', () => resolve(undefined)))
  try {
    return await work(async (question, fallback = '') => {
      const hint = fallback === '' ? '' : ` [${fallback}]`
      // Ctrl-C rejects the question, the end of the input closes the prompt.
      const answered = prompt.question(`${question}${hint}: `).catch(() => undefined)
      const answer = await Promise.race([answered, closed])
      if (answer === undefined) throw new CommandFailure('Setup was cancelled; nothing was changed.')
      return answer.trim() || fallback
    })
  } finally {
    prompt.close()
  }
}

/** Asks a yes-or-no question; an empty answer is no. */
export function confirm(question: string): Promise<boolean> {
  return withPrompt(async (ask) => /^y(?:es)?$/i.test(await ask(`${question} (y/N)`)))
}

/** Collects the settings: explicit ones first, then answers to questions, then defaults for a public server. */
export async function collectAnswers(
  explicit: ReadonlyMap<string, string>,
  { interactive }: { interactive: boolean },
): Promise<Answers> {
  const values = new Map(explicit)
  return interactive ? withPrompt((ask) => collect(values, ask)) : collect(values, undefined)
}

async function collect(values: Map<string, string>, ask: Ask | undefined): Promise<Answers> {
  const requireValue = async (flag: string, question: string, fallback = '') => {
    const given = values.get(flag)
    const answer =
      given === undefined && ask ? await askFor(ask, flag, question, fallback) : given || fallback
    const value = normalize(flag, answer)
    if (value === '')
      throw new CommandFailure(`${question}: missing. Write: adit server setup --${flag} ${EXAMPLES[flag]}`)
    values.set(flag, value)
    return value
  }
  const domain = await requireValue('domain', 'Domain for tunnels')
  if (isLocalDomain(domain)) throw new CommandFailure(localDomainText(domain))
  const local = localAddresses()
  const publicAddresses = await requireValue(
    'public-ips',
    'Public addresses of this machine',
    local.filter(isPublicAddress).join(','),
  )
  // Without an address, and with a certificate of the operator's own, no authority is needed.
  if (!values.has('tls-cert')) await requireValue('acme-email', 'Email address for the certificate authority')
  if (!values.has('database-url')) {
    const url =
      ask && (await askFor(ask, 'database-url', 'Database: PostgreSQL URL, or empty for the embedded one'))
    if (url) values.set('database-url', url)
  }

  const [address = ''] = publicAddresses.split(',')
  // Not 0.0.0.0: a resolver of the machine often holds port 53 on the loopback address. Behind a NAT, the local address.
  const dnsHost = local.includes(address) ? address : (local.find((ip) => !ip.includes(':')) ?? '0.0.0.0')
  const defaults = {
    ...(values.has('acme-email') && { 'acme-directory': LETS_ENCRYPT }),
    'data-dir': DEFAULT_DATA_DIR,
    'http-addr': '0.0.0.0:80',
    'https-addr': '0.0.0.0:443',
    'agent-addr': '0.0.0.0:4443',
    'ssh-addr': '0.0.0.0:2222',
    'tcp-host': '0.0.0.0',
    'dns-addr': dnsHost.includes(':') ? `[${dnsHost}]:53` : `${dnsHost}:53`,
    'api-addr': '127.0.0.1:4080',
  }
  for (const [flag, value] of Object.entries(defaults)) if (!values.has(flag)) values.set(flag, value)
  const args = [...values].map(([flag, value]) => `--${flag}=${value}`)
  return {
    settings: readSettings(args, {}),
    values: new Map([...values].map(([flag, value]) => [environmentVariable(flag), value])),
  }
}

/** Asks until the answer is valid. What has an example is required. */
async function askFor(ask: Ask, flag: string, question: string, fallback?: string): Promise<string> {
  const example = EXAMPLES[flag]
  const hint = example === undefined || fallback ? '' : ` (such as ${example})`
  for (;;) {
    const answer = normalize(flag, await ask(`${question}${hint}`, fallback))
    const mistake =
      answer === '' ? example && `It is required: ${example}, for example.` : mistakeIn(flag, answer)
    if (mistake === undefined) return answer
    process.stdout.write(`  ${mistake}\n`)
  }
}

function mistakeIn(flag: string, answer: string): string | undefined {
  try {
    readSettings([`--${flag}=${answer}`], {})
  } catch (error) {
    return errorMessage(error)
  }
  return flag === 'domain' && isLocalDomain(answer) ? localDomainText(answer) : undefined
}

const localDomainText = (domain: string) =>
  `${domain} exists only on this machine; adit server needs no setup for it.`

/** People copy their domain from a browser, with `https://` before it and a slash behind it. */
const normalize = (flag: string, text: string) =>
  flag === 'domain' ? text.replace(/^https?:\/\//i, '').replace(/\/+$/, '') : text

const EXAMPLES: Readonly<Record<string, string>> = {
  domain: 'tunnels.example.com',
  'public-ips': '203.0.113.10',
  'acme-email': 'you@example.com',
}

function localAddresses(): string[] {
  return Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.filter(({ internal }) => !internal).map(({ address }) => address),
  )
}
