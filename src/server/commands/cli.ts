import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { CommandFailure, findCommand } from '../../base/process/command-line.ts'
import { createLog } from '../../base/process/log.ts'
import { isRootTrusted, TRUST_HINT } from '../../base/process/trusted-root.ts'
import { formatError } from '../../base/text/serialize-error.ts'
import { isLocalDomain } from '../../base/values/local-domain.ts'
import type { Secret } from '../../base/values/secret.ts'
import type { CreatedAccount } from '../../dashboard/index.ts'
import type { CredentialsFile } from '../credentials-file.ts'
import type { RunningServer } from '../index.ts'
import { openAgentPortEarly } from '../process/agent-port.ts'
import { isTerminalOutput } from '../secret-output.ts'
import { offerCommandOnPath } from '../settings/path-offer.ts'
import {
  formatSettingsHelp,
  readCommandLine,
  readSettings,
  type ServerSettings,
  settingsFilePath,
  warnOfPassword,
} from '../settings/settings.ts'
import { findPredecessor, type RunningPredecessor } from '../upgrade/predecessor.ts'
import { formatAddresses } from './address-lines.ts'
import { parseSubcommand, type Subcommand, subcommands } from './subcommands.ts'

function formatHelp(): string {
  const usages = subcommands.map(({ words, operand = '', help }) => {
    const usage = [...words, operand].join(' ')
    return `  adit server ${usage.padEnd(32)}${help}`
  })
  return `adit server: the platform, in one process or with several workers

Usage
  adit server [--flags]
${usages.join('\n')}

Flags, each with its environment variable
${formatSettingsHelp()}

Examples
  adit server                                         try it on this machine
  adit server --domain tunnel.example.com \\
    --http-addr 0.0.0.0:80 --https-addr 0.0.0.0:443 --agent-addr 0.0.0.0:4443
  ADIT_DATABASE_URL=postgres://adit:…@localhost/adit adit server
  adit server backup --help                           more about a command

Port 0 means any free port; false switches a listener off.
`
}

function formatSubcommandHelp(command: Subcommand): string {
  const { words, operand, help, examples } = command
  const usage = [
    'adit server',
    ...words,
    ...(operand ? [operand] : []),
    ...(command.switches ?? []).map((name) => `[--${name}]`),
    ...(command.hasJson ? ['[--output json]'] : []),
  ]
  return `${help}

Usage
  ${usage.join(' ')} [--flags]

Examples
${examples.map((line) => `  ${line}\n`).join('')}
The flags of the server, such as --data-dir and --database-url, locate its state: adit server --help
`
}

/** What a start prints: the next command first, and at most twelve lines. `adit server status` has the rest. */
function formatWelcome(
  { credentials, createdAccount, notReady }: RunningServer,
  settings: ServerSettings,
  link: Secret | undefined,
): string {
  const isFirst = createdAccount !== undefined
  const installCommand = offerCommandOnPath(process.env)
  const lines =
    notReady === undefined
      ? ['', 'Adit is ready. Next, in another terminal, give a local service a public URL:']
      : [
          '',
          `Adit has started, but is not ready. ${notReady}`,
          'Until it is, edges and agents use the last known configuration; API calls that need the database return 503.',
          'Then, in another terminal, give a local service a public URL:',
        ]
  // The agent looks for a server in the default directory.
  const dataDir = settings.explicit.has('data-dir') ? inDataDir(settings.dataDir) : ''
  lines.push(`  ${dataDir}adit http 3000`)
  if (installCommand !== undefined) lines.push(`To put adit on your PATH: ${installCommand}`)
  lines.push('')
  if (!isFirst || !isTerminalOutput()) lines.push(...formatAddresses(credentials))
  if (isFirst) lines.push(...formatFirstStart(createdAccount, credentials, settings, link))
  if (credentials.https_url !== null && isLocalDomain(settings.domain) && !isRootTrusted(credentials.ca_file))
    lines.push(TRUST_HINT)
  if (isFirst && isTerminalOutput())
    lines.push('All addresses, the API key and the authtoken: adit server status')
  return `${lines.join('\n')}\n\n`
}

/** Sets the variable for a command of the shell that people have. */
const inDataDir = (path: string): string =>
  process.platform === 'win32' ? `$env:ADIT_DATA_DIR = '${path}'; ` : `ADIT_DATA_DIR=${path} `

function formatFirstStart(
  account: CreatedAccount,
  { dashboard_url }: CredentialsFile,
  { dataDir, domain }: ServerSettings,
  link: Secret | undefined,
): string[] {
  if (!isTerminalOutput())
    return [
      `API key and authtoken: ${join(dataDir, 'credentials.json')}, readable only by its owner`,
      `To sign in to ${dashboard_url} as ${account.email}, print a link that sets the password:`,
      `  adit server admin-link --domain ${domain} --data-dir ${dataDir}`,
    ]
  // On a local domain a password is printed; on a public one a link that works once, from any machine.
  if (link !== undefined)
    return [
      'Set your dashboard password with this link, which works once, within 24 hours:',
      `  ${link.reveal()}`,
      'adit server admin-link prints another.',
    ]
  return [
    `Sign in to the dashboard at ${dashboard_url} with`,
    `  Email       ${account.email}`,
    `  Password    ${account.password.reveal()}`,
    'The password is shown only this once and stored nowhere; "adit server user password" sets another.',
  ]
}

/** The message for an expected error. Any other error is a bug, printed with its stack. */
async function describeError(error: unknown): Promise<string | undefined> {
  if (error instanceof CommandFailure) return error.message
  const { describeStartError } = await import('../process/start-errors.ts')
  return describeStartError(error)
}

/** Commands of the operator find the installed service by its settings file, unless the command line names another server. */
function readServiceSettings(environment: NodeJS.ProcessEnv): ServerSettings {
  let file = ''
  try {
    file = readFileSync(settingsFilePath(environment), 'utf8')
  } catch {
    // No service is installed here, or it belongs to another user.
  }
  return readSettings([], { ...parseEnv(file), ...environment })
}

/** Runs `adit server …`; returns the exit code, or exits with 1 when the server could not start. */
export async function runServer(args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h') || args[0] === 'help') {
    const words = args.filter((word, index) => !word.startsWith('-') && (index > 0 || word !== 'help'))
    const { command } = findCommand(subcommands, words)
    process.stdout.write(command === undefined ? formatHelp() : formatSubcommandHelp(command))
    return 0
  }
  const predecessor = findPredecessor(process.env)
  try {
    const { settings, rest } = readCommandLine(args, process.env)
    const warning = warnOfPassword(args)
    if (warning !== undefined) process.stderr.write(`WARNING:  ${warning}\n`)
    if (rest.length === 0) await serve(settings, args, predecessor)
    else {
      const { command, operands, switches } = parseSubcommand(rest)
      const isForService = settings.explicit.size === 0 && command.words[0] !== 'setup'
      const operated = isForService ? readServiceSettings(process.env) : settings
      await command.run(operands, operated, switches, settings.explicit)
    }
    return 0
  } catch (error) {
    const message = (await describeError(error)) ?? formatError(error)
    process.stderr.write(`ERROR:  ${message}\n`)
    await predecessor?.reportFailure(message)
    // Not `return 1`: handles left open by a failed start must not keep the process alive.
    process.exit(1)
  }
}

/** Traffic in flight has a grace period of 30 s; the process exits soon after it, whatever is still open (P9). */
const STOP_TIMEOUT_MS = 35_000
/** A start has no traffic to drain, but one that hangs must not block signals. */
const START_STOP_TIMEOUT_MS = 5_000
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Runs until a signal or until another release has taken over; a second signal ends the process at once. */
async function serve(
  settings: ServerSettings,
  args: readonly string[],
  predecessor: RunningPredecessor | undefined,
): Promise<void> {
  // Installed before the start: a signal may arrive as soon as the server prints that it is ready.
  const signal = new Promise<void>((resolve) => {
    for (const name of STOP_SIGNALS) process.once(name, () => resolve())
  })
  const progress = { started: false }
  void signal.then(() => enforceStopTimeout(progress))
  void predecessor?.ended.then(() => {
    // A stop is meant for the service, not for one of its releases.
    if (!progress.started) killProcess()
  })
  const early = predecessor === undefined ? await openAgentPortEarly(settings) : undefined
  const { startServer } = await import('../index.ts')
  const server = await startServer(settings, {}, { predecessor, early })
  progress.started = true
  if (predecessor === undefined) await printWelcome(server, settings)
  const replaced = waitForUpgrade(settings, args, { server, predecessor })
  if (await Promise.race([signal, replaced])) enforceStopTimeout(progress)
  await server.stop()
}

async function printWelcome(server: RunningServer, settings: ServerSettings): Promise<void> {
  const isPublic = !isLocalDomain(settings.domain)
  const link = isPublic && isTerminalOutput() ? await server.createPasswordLink() : undefined
  process.stdout.write(formatWelcome(server, settings, link))
}

/** Resolves once another release has taken over from this one. One upgrade is over before the next can begin. */
async function waitForUpgrade(
  settings: ServerSettings,
  args: readonly string[],
  { server, predecessor }: { server: RunningServer; predecessor: RunningPredecessor | undefined },
): Promise<true> {
  try {
    if (predecessor !== undefined) {
      predecessor.reportReady()
      await predecessor.ended
      await server.completeUpgrade()
    }
    const { acceptUpgrades } = await import('../upgrade/upgrade-socket.ts')
    const { startSuccessor } = await import('../upgrade/successor.ts')
    await acceptUpgrades(settings, (program, timeoutMs) =>
      startSuccessor(program, args, server.handOver, timeoutMs),
    )
    return true
  } catch (err) {
    createLog(settings.logLevel).warn({ part: 'server', err }, 'no upgrade without a restart is possible')
    return new Promise(() => {})
  }
}

function enforceStopTimeout(progress: { readonly started: boolean }): void {
  for (const name of STOP_SIGNALS) process.once(name, killProcess)
  const timeoutMs = progress.started ? STOP_TIMEOUT_MS : START_STOP_TIMEOUT_MS
  setTimeout(() => {
    process.stderr.write(`ERROR:  not everything had stopped ${timeoutMs / 1000} seconds after the signal.\n`)
    if (progress.started) process.exit(1)
    else killProcess()
  }, timeoutMs).unref()
}

/** `process.exit` waits for system calls in progress, which may never return: reading a pipe, or a file on a lost network. */
function killProcess(): void {
  process.kill(process.pid, 'SIGKILL')
}
