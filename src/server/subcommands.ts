import { systemClock, timestamp } from '../base/clock.ts'
import { silentLog } from '../base/log.ts'
import { createOutbound } from '../base/outbound/outbound.ts'
import { describeCertificates, reportCertificates } from '../certs/index.ts'
import { createPasswords } from '../dashboard/index.ts'
import { createEvents, type Events } from '../events/index.ts'
import { backup, type DurableStore, NameTaken, openStore, restore, rotateMasterKey } from '../store/index.ts'
import { runCheck } from './check/system-probes.ts'
import { givePasswordTo, makeAccount, usersWithEmail } from './create-account.ts'
import { readCredentialsFile } from './credentials-file.ts'
import { goesToJournal } from './secret-output.ts'
import { masterKeyFileOf, type Settings } from './settings.ts'

/** A command of the operator beside starting the server: its words, with what people fill in in capitals. */
export interface Subcommand {
  readonly words: string
  readonly help: string
  run(args: readonly string[], settings: Settings): Promise<void>
}

/** A command that cannot be carried out: one sentence for the terminal. */
export class Refused extends Error {}

function say(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

async function withStore(settings: Settings, work: (store: DurableStore) => Promise<void>): Promise<void> {
  const store = await openStore({
    url: settings.databaseUrl,
    dataDir: settings.dataDir,
    masterKeyFile: masterKeyFileOf(settings),
    clock: systemClock,
    log: silentLog,
  })
  try {
    await work(store)
  } finally {
    await store.close()
  }
}

async function withEvents(settings: Settings, work: (events: Events) => Promise<void>): Promise<void> {
  const outbound = createOutbound({ allow: settings.outboundAllow })
  const apiUrl = (await readCredentialsFile(settings.dataDir))?.api_url ?? ''
  await withStore(settings, (store) =>
    work(createEvents({ store, outbound, log: silentLog, apiUrl: () => apiUrl, jobs: false })),
  ).finally(() => outbound.close())
}

function needed(value: string | undefined, sentence: string): string {
  if (value === undefined || value.trim() === '') throw new Refused(sentence)
  return value
}

/** Before a secret is made that would then be lost or, printed, kept for whoever may read the journal. */
function refuseJournal(): void {
  if (goesToJournal())
    throw new Refused(
      'The output of this command has a secret in it and would go to the journal: run it in a terminal, or send its output to a file of your own.',
    )
}

/** Everything `adit server` does besides running. */
export const subcommands: readonly Subcommand[] = [
  {
    words: 'account create NAME',
    help: 'make another account, with its own administrator, API key and authtoken',
    async run([given], settings) {
      const name = needed(given, 'Give the new account a name: adit server account create NAME.')
      refuseJournal()
      await withStore(settings, async (store) => {
        const email = `admin@${settings.domain}`
        const means = { store, passwords: createPasswords(), clock: systemClock }
        const made = await makeAccount(means, name, email).catch((error) => {
          throw error instanceof NameTaken
            ? new Refused(`There is an account called ${name} already.`)
            : error
        })
        const shown = {
          account_id: made.accountId,
          api_key: made.apiKey.reveal(),
          authtoken: made.authtoken.reveal(),
          email,
          password: made.password.reveal(),
        }
        say(JSON.stringify(shown, null, 2))
      })
    },
  },
  {
    words: 'account list',
    help: 'list all accounts',
    run: (_args, settings) =>
      withStore(settings, async (store) => {
        let after: string | undefined
        for (;;) {
          const rows = await store.scan('accounts', { limit: 100, after })
          for (const row of rows) say(`${row.id}  ${String(row.data.name)}`)
          if (rows.length < 100) return
          after = rows.at(-1)!.id
        }
      }),
  },
  {
    words: 'user password EMAIL',
    help: 'make a new password for a user, to sign in to the dashboard; switches the second factor off',
    async run([given, account], settings) {
      const email = needed(given, 'Name the user: adit server user password EMAIL.')
      refuseJournal()
      await withStore(settings, async (store) => {
        const found = await usersWithEmail(store, email)
        const [user, another] = found.filter((each) => account === undefined || each.account === account)
        if (user === undefined) throw new Refused(`There is no user with the email address ${email}.`)
        if (another !== undefined)
          throw new Refused(
            `Several accounts have a user ${email}; add the account: adit server user password ${email} ${user.account} (or ${another.account}).`,
          )
        const means = { store, passwords: createPasswords(), clock: systemClock }
        say(
          `${email} signs in to the dashboard with the new password ${(await givePasswordTo(means, user)).reveal()}`,
        )
      })
    },
  },
  {
    words: 'check',
    help: 'walk the public set-up: ports, DNS, certificates, clock',
    async run(_args, settings) {
      const { text, passed } = await runCheck(settings)
      say(text)
      if (!passed) throw new Refused('The set-up is not complete; see above for what to do.')
    },
  },
  {
    words: 'certs',
    help: 'how every automatic certificate stands, in plain words',
    run: (_args, settings) =>
      withStore(settings, async (store) => {
        const automatic = settings.acmeDirectory !== undefined
        say(describeCertificates(await reportCertificates(store, { now: systemClock.now(), automatic })))
      }),
  },
  {
    words: 'events',
    help: 'how deliveries to every event destination stand',
    run: (_args, settings) =>
      withEvents(settings, async (events) => {
        const states = await events.states()
        if (states.length === 0) say('No event destination has had an event yet.')
        for (const state of states) say(JSON.stringify(state))
      }),
  },
  {
    words: 'events dead DESTINATION',
    help: 'list events that were given up',
    async run([given], settings) {
      const destination = needed(given, 'Name the destination: adit server events dead ed_….')
      await withEvents(settings, async (events) => {
        for (const dead of await events.deadLetters(destination, { limit: 1000 })) say(JSON.stringify(dead))
      })
    },
  },
  {
    words: 'events replay DESTINATION',
    help: 'queue the events again that were given up',
    async run([given, ...ids], settings) {
      const destination = needed(given, 'Name the destination: adit server events replay ed_….')
      await withEvents(settings, async (events) => {
        const count = await events.replay(destination, ids.length === 0 ? undefined : ids)
        say(`${count} events will be delivered again (${timestamp(systemClock.now())}).`)
      })
    },
  },
  {
    words: 'backup FILE',
    help: 'write all state to one file, while the server runs; the master key is not in it',
    async run([given], settings) {
      const file = needed(given, 'Say where to: adit server backup FILE.')
      await backup({ url: settings.databaseUrl, dataDir: settings.dataDir, log: silentLog }, file)
      say(`Backup written to ${file}. Keep the master key apart from it; a restored server needs both.`)
    },
  },
  {
    words: 'restore FILE',
    help: 'fill an empty data directory or database from a backup',
    async run([given], settings) {
      const file = needed(given, 'Say from where: adit server restore FILE.')
      const { verified } = await restore(
        { url: settings.databaseUrl, dataDir: settings.dataDir, log: silentLog },
        file,
      )
      if (!verified)
        process.stderr.write(
          `WARNING:  ${file} has no digest, as backups of earlier releases: changed bytes in it would not be noticed.\n`,
        )
      say(`Restored from ${file}. Put the master key back, then start the server.`)
    },
  },
  {
    words: 'rotate-key',
    help: 'seal all secrets under a new master key, while the server runs',
    run: (_args, settings) =>
      withStore(settings, async (store) => {
        const { rewrapped } = await rotateMasterKey(store)
        say(`All secrets (${rewrapped}) are sealed under the new master key.`)
      }),
  },
]

/** Finds the subcommand the arguments begin with, the longest first, and splits what follows into words and flags. */
export function findSubcommand(
  args: readonly string[],
): { command: Subcommand; words: string[]; flags: string[] } | undefined {
  const fixedOf = ({ words }: Subcommand) => words.split(' ').filter((word) => word === word.toLowerCase())
  const [command] = subcommands
    .filter((candidate) => fixedOf(candidate).every((word, index) => args[index] === word))
    .toSorted((one, other) => fixedOf(other).length - fixedOf(one).length)
  if (command === undefined) return undefined
  const rest = args.slice(fixedOf(command).length)
  const flagsFrom = rest.findIndex((word) => word.startsWith('--'))
  return flagsFrom === -1
    ? { command, words: rest, flags: [] }
    : { command, words: rest.slice(0, flagsFrom), flags: rest.slice(flagsFrom) }
}
