import { join } from 'node:path'
import { createAccount } from '../auth/index.ts'
import { systemClock } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import {
  BackupRefused,
  backup,
  DatabaseRefused,
  MasterKeyRefused,
  NameTaken,
  NewerSchema,
  openStore,
  restore,
  rotateMasterKey,
  type Store,
  StoreUnavailable,
} from '../store/index.ts'
import { type RunningServer, startServer } from './index.ts'
import { BadSetting, readSettings, type Settings, settingsHelp } from './settings.ts'

interface Subcommand {
  readonly words: string
  readonly help: string
  run(args: string[], settings: Settings): Promise<void>
}

/** A command that cannot be carried out: one sentence for the terminal. */
class Refused extends Error {}

function storeOptions(settings: Settings) {
  return {
    url: settings.databaseUrl,
    dataDir: settings.dataDir,
    masterKeyFile: settings.masterKeyFile ?? join(settings.dataDir, 'master.key'),
    clock: systemClock,
    log: silentLog,
  }
}

async function withStore(settings: Settings, work: (store: Store) => Promise<void>): Promise<void> {
  const store = await openStore(storeOptions(settings))
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

const subcommands: readonly Subcommand[] = [
  {
    words: 'account create NAME',
    help: 'make another account, with its own administrator, API key and authtoken',
    async run([name], settings) {
      if (name === undefined || name.trim() === '')
        throw new Refused('Give the new account a name: adit server account create NAME.')
      await withStore(settings, async (store) => {
        const made = await createAccount(store, {
          name,
          email: `admin@${settings.domain}`,
          clock: systemClock,
        }).catch((error) => {
          throw error instanceof NameTaken
            ? new Refused(`There is an account called ${name} already.`)
            : error
        })
        const shown = {
          account_id: made.accountId,
          api_key: made.apiKey.reveal(),
          authtoken: made.authtoken.reveal(),
        }
        process.stdout.write(`${JSON.stringify(shown, null, 2)}\n`)
      })
    },
  },
  {
    words: 'account list',
    help: 'list all accounts',
    async run(_args, settings) {
      await withStore(settings, async (store) => {
        let after: string | undefined
        for (;;) {
          const rows = await store.scan('accounts', { limit: 100, after })
          for (const row of rows) process.stdout.write(`${row.id}  ${String(row.data.name)}\n`)
          if (rows.length < 100) return
          after = rows.at(-1)!.id
        }
      })
    },
  },
  {
    words: 'backup FILE',
    help: 'write all state to one file, while the server runs; the master key is not in it',
    async run([file], settings) {
      if (file === undefined) throw new Refused('Say where to: adit server backup FILE.')
      await backup({ url: settings.databaseUrl, dataDir: settings.dataDir, log: silentLog }, file)
      process.stdout.write(
        `Backup written to ${file}. Keep the master key apart from it; a restored server needs both.\n`,
      )
    },
  },
  {
    words: 'restore FILE',
    help: 'fill an empty data directory or database from a backup',
    async run([file], settings) {
      if (file === undefined) throw new Refused('Say from where: adit server restore FILE.')
      await restore({ url: settings.databaseUrl, dataDir: settings.dataDir, log: silentLog }, file)
      process.stdout.write(`Restored from ${file}. Put the master key back, then start the server.\n`)
    },
  },
  {
    words: 'rotate-key',
    help: 'seal all secrets under a new master key, while the server runs',
    async run(_args, settings) {
      const store = await openStore(storeOptions(settings))
      try {
        await rotateMasterKey(store)
      } finally {
        await store.close()
      }
      process.stdout.write('All secrets are sealed under the new master key.\n')
    },
  },
]

function help(): string {
  return `adit server: the platform, in one process

Usage
  adit server [--flags]
${subcommands.map(({ words, help: text }) => `  adit server ${words.padEnd(24)}${text}`).join('\n')}

Flags, each with its environment variable
${settingsHelp()}

An address with port 0 means any free port; false switches that listener off.
`
}

/** Finds the subcommand the arguments begin with, and splits what follows into its words and the flags. */
function findSubcommand(
  args: readonly string[],
): { command: Subcommand; words: string[]; flags: string[] } | undefined {
  for (const command of subcommands) {
    const fixed = command.words.split(' ').filter((word) => word === word.toLowerCase())
    if (!fixed.every((word, index) => args[index] === word)) continue
    const rest = args.slice(fixed.length)
    const flagsFrom = rest.findIndex((word) => word.startsWith('--'))
    return flagsFrom === -1
      ? { command, words: rest, flags: [] }
      : { command, words: rest.slice(0, flagsFrom), flags: rest.slice(flagsFrom) }
  }
  return undefined
}

function welcome({ credentials, made }: RunningServer, settings: Settings): string {
  const lines = ['', 'Adit is ready.', `  API and dashboard   ${credentials.api_url}`]
  if (credentials.https_url !== null) lines.push(`  Public HTTPS        ${credentials.https_url}`)
  if (credentials.http_url !== null) lines.push(`  Public HTTP         ${credentials.http_url}`)
  if (credentials.agent_addr !== null) lines.push(`  Agents              ${credentials.agent_addr}`)
  if (credentials.ssh_addr !== null) lines.push(`  SSH gateway         ${credentials.ssh_addr}`)
  if (made !== undefined)
    lines.push(
      '',
      'This is the first start, so an account was made. Its secrets are shown this once',
      `and kept in ${join(settings.dataDir, 'credentials.json')}:`,
      `  API key     ${made.apiKey.reveal()}`,
      `  Authtoken   ${made.authtoken.reveal()}`,
    )
  lines.push('', 'Next, in another terminal, give a local service a public URL:', '  bin/adit http 3000', '')
  return lines.join('\n')
}

/** Errors of the store whose text is meant for the terminal. */
const SPOKEN_FOR = [MasterKeyRefused, NewerSchema, StoreUnavailable, BackupRefused, DatabaseRefused]

/** Sentences for what can go wrong before anything runs; anything else is a bug and shown whole. */
function explain(error: unknown): string | undefined {
  if (error instanceof BadSetting || error instanceof Refused) return error.message
  if (SPOKEN_FOR.some((kind) => error instanceof kind)) return (error as Error).message
  const { code, address, port } = error as NodeJS.ErrnoException & { address?: string; port?: number }
  if (code === 'EADDRINUSE')
    return `${address}:${port} is in use by another program. Stop it, or choose another address (adit server --help).`
  if (code === 'EACCES' && port !== undefined)
    return `There is no permission to listen on ${address}:${port}; ports below 1024 need it.`
  if (code === 'EACCES' || code === 'EROFS')
    return `The data directory cannot be written: ${(error as Error).message}.`
  return undefined
}

/** `adit server …`; answers with the exit code. */
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
    return 1
  }
}

/** Runs until a signal asks to stop; a second signal does not wait for anything. */
async function serve(settings: Settings): Promise<void> {
  const server = await startServer(settings)
  process.stdout.write(welcome(server, settings))
  const signal = new Promise<void>((resolve) => {
    for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => resolve())
  })
  await signal
  for (const name of ['SIGTERM', 'SIGINT'] as const) process.once(name, () => process.exit(1))
  await server.stop()
}
