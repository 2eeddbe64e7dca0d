import { join } from 'node:path'
import { Failpoint } from '../base/failpoint.ts'
import {
  BackupRefused,
  DatabaseRefused,
  MasterKeyRefused,
  NewerSchema,
  StoreUnavailable,
} from '../store/index.ts'
import type { MadeAccount } from './create-account.ts'
import type { CredentialsFile } from './credentials-file.ts'
import { type RunningServer, startServer } from './index.ts'
import { isReadByPerson } from './secret-output.ts'
import { BadSetting, readSettings, type Settings, settingsHelp } from './settings.ts'
import { findSubcommand, Refused, subcommands } from './subcommands.ts'

function help(): string {
  return `adit server: the platform, in one process

Usage
  adit server [--flags]
${subcommands.map(({ words, help: text }) => `  adit server ${words.padEnd(28)}${text}`).join('\n')}

Flags, each with its environment variable
${settingsHelp()}

An address with port 0 means any free port; false switches that listener off.
`
}

function welcome({ credentials, made, databaseAway }: RunningServer, settings: Settings): string {
  const lines = ['', 'Adit is ready.']
  if (databaseAway !== undefined)
    lines.push(
      `Its database is away, though. ${databaseAway}`,
      'Until it is back, edges and agents go on with what was last known; the API answers 503.',
    )
  lines.push(`  API and dashboard   ${credentials.api_url}`)
  if (credentials.https_url !== null) lines.push(`  Public HTTPS        ${credentials.https_url}`)
  if (credentials.http_url !== null) lines.push(`  Public HTTP         ${credentials.http_url}`)
  if (credentials.agent_addr !== null) lines.push(`  Agents              ${credentials.agent_addr}`)
  if (credentials.ssh_addr !== null) lines.push(`  SSH gateway         ${credentials.ssh_addr}`)
  if (made !== undefined) lines.push('', ...firstStart(made, credentials, settings))
  lines.push('', 'Next, in another terminal, give a local service a public URL:', '  bin/adit http 3000', '')
  return lines.join('\n')
}

function firstStart(made: MadeAccount, { api_url }: CredentialsFile, { dataDir }: Settings): string[] {
  const file = join(dataDir, 'credentials.json')
  if (!isReadByPerson())
    return [
      'This is the first start, so an account was made. Its API key and authtoken are in',
      `${file}, which its owner alone can read; they are printed to terminals only.`,
      '',
      `Sign in to the dashboard at ${api_url}/dashboard/ as ${made.email}; this makes the password:`,
      `  bin/adit server user password ${made.email} --data-dir ${dataDir}`,
    ]
  return [
    'This is the first start, so an account was made. Its secrets are shown this once',
    `and kept in ${file}:`,
    `  API key     ${made.apiKey.reveal()}`,
    `  Authtoken   ${made.authtoken.reveal()}`,
    '',
    `Sign in to the dashboard at ${api_url}/dashboard/ with`,
    `  Email       ${made.email}`,
    `  Password    ${made.password.reveal()}`,
    'The password is shown this once and kept nowhere; "adit server user password" makes another.',
  ]
}

/** Errors of the store whose text is meant for the terminal. */
const SPOKEN_FOR = [MasterKeyRefused, NewerSchema, StoreUnavailable, BackupRefused, DatabaseRefused]

/** Sentences for what can go wrong before anything runs; anything else is a bug and shown whole. */
function explain(error: unknown): string | undefined {
  if (error instanceof BadSetting || error instanceof Refused) return error.message
  if (error instanceof Failpoint) return error.message
  if (SPOKEN_FOR.some((kind) => error instanceof kind)) return (error as Error).message
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  if (code === 'EADDRINUSE')
    return `${address}:${port} is in use by another program. Stop it, or choose another address (adit server --help).`
  if (code === 'EACCES' && port !== undefined)
    return `There is no permission to listen on ${address}:${port}; ports below 1024 need it.`
  if (code === 'EACCES' || code === 'EROFS')
    return `The data directory cannot be written: ${(error as Error).message}.`
  if (code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG')
    return `The disk is full: ${(error as Error).message}. Free some space, then try again.`
  return undefined
}

/** `adit server …`; answers with the exit code, or ends the process with 1 when the server could not start. */
export async function runServer(args: readonly string[]): Promise<number> {
  if (args.includes('--help') || args.includes('-h') || args[0] === 'help') {
    process.stdout.write(help())
    return 0
  }
  try {
    const found = findSubcommand(args)
    if (found !== undefined) {
      await found.command.run(found.words, readSettings(found.flags, process.env))
      return 0
    }
    const settings = readSettings(args, process.env)
    await serve(settings)
    return 0
  } catch (error) {
    const sentence = explain(error)
    process.stderr.write(
      sentence === undefined ? `ERROR:  ${(error as Error).stack}\n` : `ERROR:  ${sentence}\n`,
    )
    // Not `return 1`: whatever is left of a failed start must not keep the process alive.
    process.exit(1)
  }
}

/** What is under way has 30 s; whatever holds up the rest, nobody waits for it much longer (P9). */
const STOP_MS = 35_000
const STOP_SIGNALS = ['SIGTERM', 'SIGINT'] as const

/** Runs until a signal asks to stop; a second signal does not wait for anything. */
async function serve(settings: Settings): Promise<void> {
  // Heard from the very start on: whoever reads that the server is ready may stop it at once.
  const signal = new Promise<void>((resolve) => {
    for (const name of STOP_SIGNALS) process.once(name, () => resolve())
  })
  // Also while the server is still starting: a start that hangs must not make the process deaf to signals.
  void signal.then(limitStop)
  const server = await startServer(settings)
  process.stdout.write(welcome(server, settings))
  await signal
  await server.stop()
}

function limitStop(): void {
  for (const name of STOP_SIGNALS) process.once(name, () => process.exit(1))
  setTimeout(() => {
    process.stderr.write(`ERROR:  not everything had ended ${STOP_MS / 1000} seconds after the signal.\n`)
    process.exit(1)
  }, STOP_MS).unref()
}
