import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { CommandFailure, findCommand, takeFlags } from '../../base/process/command-line.ts'
import { silentLog } from '../../base/process/log.ts'
import { describeFileError } from '../../base/text/file-error.ts'
import { formatTimestamp, systemClock } from '../../base/values/clock.ts'
import { EMAIL_ADDRESS } from '../../base/values/email-address.ts'
import { findNearest } from '../../base/values/nearest.ts'
import { LAUNCH_COMMAND } from '../../base/version.ts'
import type { Events } from '../../events/index.ts'
import type { DurableStore } from '../../store/index.ts'
import { readCredentialsFile } from '../credentials-file.ts'
import { isJournalOutput, isTerminalOutput } from '../secret-output.ts'
import { readOutboundOptions } from '../settings/outbound-options.ts'
import { certificatePaths, type ServerSettings, unknownFlag } from '../settings/settings.ts'
import { runTrust } from '../trust/trust.ts'
import { requireDatabase, withStore } from '../with-store.ts'

/** An operator command beside starting the server. `operand` names its argument in the help. */
export interface Subcommand {
  readonly words: readonly string[]
  readonly operand?: string
  /** One with `operand`, none without, unless this says otherwise. */
  readonly maxOperands?: number
  readonly help: string
  readonly examples: readonly [string, ...string[]]
  /** Flags of this command beside the settings, without hyphens; each is a switch. */
  readonly switches?: readonly string[]
  /** It prints JSON with `--output json`, which it sees as the switch `json`. */
  readonly hasJson?: boolean
  run(
    args: readonly string[],
    settings: ServerSettings,
    switches: ReadonlySet<string>,
    /** The settings that flags and variables set, as text by flag. */
    explicit?: ReadonlyMap<string, string>,
  ): Promise<void>
}

// Loaded by the command that needs them: the help and a mistyped flag answer at once.
const loadStore = () => import('../../store/index.ts')
const loadIpData = () => import('../ip-data.ts')
const loadDashboard = () => import('../../dashboard/index.ts')

function print(text: string): void {
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`)
}

const printJson = (value: unknown) => print(JSON.stringify(value, null, 2))

async function withEvents(
  settings: ServerSettings,
  work: (events: Events, store: DurableStore) => Promise<void>,
): Promise<void> {
  const { createOutbound } = await import('../../base/outbound/outbound.ts')
  const { createEvents } = await import('../../events/index.ts')
  const outbound = createOutbound(await readOutboundOptions(settings))
  const apiUrl = (await readCredentialsFile(settings.dataDir))?.api_url ?? ''
  await withStore(settings, (store) =>
    work(createEvents({ store, outbound, log: silentLog, apiUrl: () => apiUrl, jobs: false }), store),
  ).finally(() => outbound.close())
}

async function* scanAccounts(store: DurableStore) {
  let after: string | undefined
  for (;;) {
    const rows = await store.scan('accounts', { limit: 100, after })
    yield* rows
    if (rows.length < 100) return
    after = rows.at(-1)!.id
  }
}

async function requireDestination(store: DurableStore, id: string): Promise<void> {
  let after: string | undefined
  for (;;) {
    const rows = await store.scan('event_destinations', { limit: 1000, after })
    if (rows.some((row) => row.id === id)) return
    after = rows.at(-1)?.id
    if (after === undefined)
      throw new CommandFailure(
        `There is no event destination ${id}. List those that have received events with: adit server events`,
      )
  }
}

function requireArgument(value: string | undefined, message: string): string {
  if (value === undefined || value.trim() === '') throw new CommandFailure(message)
  return value
}

/** The one user with this email address, in this account if one is named. */
async function findUser(store: DurableStore, email: string, account: string | undefined, command: string) {
  const { findUsersByEmail } = await loadDashboard()
  const matches = await findUsersByEmail(store, email)
  const [user, another] = matches.filter((each) => account === undefined || each.account === account)
  if (user === undefined) throw new CommandFailure(`There is no user with the email address ${email}.`)
  if (another !== undefined)
    throw new CommandFailure(
      `Several accounts have a user ${email}; add the account: adit server ${command} ${email} ${user.account} (or ${another.account}).`,
    )
  return user
}

/** What a person does with a new account. Programs, to which the output is no terminal, get JSON. */
function describeAccount(
  name: string,
  created: { account_id: string; email: string; password: string; api_key: string; authtoken: string },
): string {
  const { account_id, email, password, api_key, authtoken } = created
  return `Created the account ${name} (${account_id}). These are shown once:

  Administrator   ${email}
  Password        ${password}
  API key         ${api_key}
  Authtoken       ${authtoken}

The administrator signs in to the dashboard with the password. An agent uses the account with:
  adit config add-authtoken ${authtoken}
`
}

/** Runs before a secret is created: printed to the journal it would be readable there. */
function rejectJournalOutput(): void {
  if (isJournalOutput())
    throw new CommandFailure(
      'The output of this command contains a secret and would go to the journal: run it in a terminal, or redirect its output to a file of your own.',
    )
}

/** The subcommands of `adit server`. */
export const subcommands: readonly Subcommand[] = [
  {
    words: ['setup'],
    help: 'set up this machine as a server: checks, settings, service, certificate; --yes, --print',
    examples: [
      'adit server setup',
      'adit server setup --yes --domain tunnels.example.com --acme-email you@example.com',
      'adit server setup --print',
    ],
    switches: ['yes', 'print'],
    async run(_args, _settings, switches, explicit = new Map()) {
      rejectJournalOutput()
      const { runSetup } = await import('../setup/setup.ts')
      const options = { yes: switches.has('yes'), print: switches.has('print') }
      await runSetup({ explicit, ...options, environment: process.env }, print)
    },
  },
  {
    words: ['upgrade'],
    operand: '[PROGRAM]',
    help: 'replace the running server with this release, or that of PROGRAM, without downtime',
    examples: ['adit server upgrade', 'adit server upgrade /opt/adit-next/bin/adit'],
    async run([program], settings) {
      const { requestUpgrade } = await import('../upgrade/upgrade-socket.ts')
      await requestUpgrade(settings, program === undefined ? LAUNCH_COMMAND : [program], print)
    },
  },
  {
    words: ['account', 'create'],
    operand: 'NAME [EMAIL]',
    maxOperands: 2,
    help: 'create another account, with its own administrator (admin@DOMAIN unless EMAIL is given), API key and authtoken',
    examples: [
      'adit server account create acme ops@acme.example',
      'adit server account create acme --output json > acme.json',
    ],
    hasJson: true,
    async run([argument, givenEmail], settings, switches) {
      const name = requireArgument(argument, 'Give the new account a name: adit server account create NAME.')
      const email = givenEmail ?? `admin@${settings.domain}`
      if (!EMAIL_ADDRESS.test(email)) throw new CommandFailure(`"${email}" is not an email address.`)
      rejectJournalOutput()
      const { createAccountWithPassword, createPasswords } = await loadDashboard()
      const { NameTaken } = await loadStore()
      await withStore(settings, async (store) => {
        const dependencies = { store, passwords: createPasswords(), clock: systemClock }
        const created = await createAccountWithPassword(dependencies, name, email).catch((error) => {
          throw error instanceof NameTaken
            ? new CommandFailure(`An account named ${name} already exists.`)
            : error
        })
        const output = {
          account_id: created.accountId,
          api_key: created.apiKey.reveal(),
          authtoken: created.authtoken.reveal(),
          email,
          password: created.password.reveal(),
        }
        if (switches.has('json') || !isTerminalOutput()) printJson(output)
        else print(describeAccount(name, output))
      })
    },
  },
  {
    words: ['account', 'list'],
    help: 'list all accounts',
    examples: ['adit server account list'],
    run: (_args, settings) =>
      withStore(settings, async (store) => {
        for await (const { id, data } of scanAccounts(store)) print(`${id}  ${String(data.name)}`)
      }),
  },
  {
    words: ['user', 'password'],
    operand: 'EMAIL',
    maxOperands: 2,
    help: "reset a user's dashboard password; switches the second factor off",
    examples: ['adit server user password admin@example.com'],
    async run([argument, account], settings) {
      const email = requireArgument(argument, 'Name the user: adit server user password EMAIL.')
      rejectJournalOutput()
      const { createPasswords, resetPassword } = await loadDashboard()
      await withStore(settings, async (store) => {
        const user = await findUser(store, email, account, 'user password')
        const dependencies = { store, passwords: createPasswords(), clock: systemClock }
        print(
          `${email} signs in to the dashboard with the new password ${(await resetPassword(dependencies, user)).reveal()}`,
        )
      })
    },
  },
  {
    words: ['admin-link'],
    operand: '[EMAIL]',
    maxOperands: 2,
    help: 'print a one-time link to set the dashboard password of the administrator, or of a user',
    examples: ['adit server admin-link', 'adit server admin-link ada@example.com'],
    async run([email = '', account], settings) {
      rejectJournalOutput()
      const { createPasswordLink, createPasswords } = await loadDashboard()
      const url = (await readCredentialsFile(settings.dataDir))?.dashboard_url
      if (typeof url !== 'string')
        throw new CommandFailure(
          `There is no server in ${settings.dataDir} yet. Start it once, or set its directory with --data-dir.`,
        )
      await withStore(settings, async (store) => {
        const user = await findUser(store, email || `admin@${settings.domain}`, account, 'admin-link')
        const dependencies = { store, passwords: createPasswords(), clock: systemClock }
        const link = await createPasswordLink(dependencies, user, url)
        print(
          `${user.email} sets a new password for the dashboard with this link. It works once, until ${formatTimestamp(link.expiresAt)}:`,
        )
        print(link.url.reveal())
      })
    },
  },
  {
    words: ['status'],
    help: 'show whether the server of this machine responds, its addresses, and what is left to do',
    examples: ['adit server status', 'adit server status --data-dir /var/lib/adit'],
    async run(_args, settings) {
      const { describeStatus } = await import('./status.ts')
      print(await describeStatus(settings))
    },
  },
  {
    words: ['check'],
    help: 'check the public setup: database, ports, DNS, certificates, clock',
    examples: ['adit server check --domain tunnel.example.com', 'adit server check --output json'],
    hasJson: true,
    async run(_args, settings, switches) {
      const [{ formatResults }, { runCheck }] = await Promise.all([
        import('../check/check.ts'),
        import('../check/system-probes.ts'),
      ])
      const { results, passed } = await runCheck(settings)
      if (switches.has('json')) printJson({ passed, checks: results })
      else print(formatResults(results))
      if (!passed) throw new CommandFailure('Setup is not complete; see above for what to do.')
    },
  },
  {
    words: ['audit', 'verify'],
    help: 'verify the audit chain of every account: that no record was changed, added or removed',
    examples: ['adit server audit verify'],
    run: (_args, settings) =>
      withStore(settings, async (store) => {
        let broken = 0
        for await (const { id, data } of scanAccounts(store)) {
          const record = await store.verifyAudit(id)
          if (record !== undefined) broken++
          print(
            `${id}  ${String(data.name)}  ${record === undefined ? 'ok' : `does not match from ${record} on`}`,
          )
        }
        if (broken > 0)
          throw new CommandFailure(
            `The audit log of ${broken} ${broken === 1 ? 'account' : 'accounts'} was changed outside of Adit: compare it with a backup.`,
          )
      }),
  },
  {
    words: ['migrate'],
    help: 'create or upgrade the database tables, as the PostgreSQL user that owns them',
    examples: ['ADIT_DATABASE_URL=postgres://adit_owner@localhost/adit adit server migrate'],
    async run(_args, settings) {
      await requireDatabase(settings)
      const { migrateDatabase } = await loadStore()
      const { databaseUrl: url, dataDir } = settings
      const { before, after } = await migrateDatabase({ url, dataDir, log: silentLog })
      const change = before >= after ? 'were up to date' : `were upgraded from version ${before} to ${after}`
      print(`The tables ${change}.`)
    },
  },
  {
    words: ['trust'],
    operand: '[FILE]',
    help: 'make this machine and its browsers trust the private root; --uninstall, --print, --java',
    examples: ['adit server trust', 'adit server trust --print', 'adit server trust ca.pem --uninstall'],
    switches: ['uninstall', 'print', 'java'],
    run: ([file], { dataDir }, switches) =>
      runTrust(
        {
          file,
          dataDir,
          uninstall: switches.has('uninstall'),
          print: switches.has('print'),
          java: switches.has('java'),
        },
        print,
      ),
  },
  {
    words: ['certs'],
    help: 'show the status of every automatic certificate, and of the one in --tls-cert',
    examples: ['adit server certs', 'adit server certs --output json'],
    hasJson: true,
    run: (_args, settings, switches) =>
      withStore(settings, async (store) => {
        const certs = await import('../../certs/index.ts')
        const acmeEnabled = settings.acmeDirectory !== undefined
        const reports = await certs.reportCertificates(store, { now: systemClock.now(), acmeEnabled })
        const paths = certificatePaths(settings)
        if (paths !== undefined) reports.unshift(await certs.reportCertificateFiles(paths, settings.domain))
        if (switches.has('json'))
          printJson({ certificates: reports.map(({ says, ...report }) => ({ ...report, detail: says })) })
        else print(certs.describeCertificates(reports))
      }),
  },
  {
    words: ['certs', 'retry'],
    operand: '[DOMAIN]',
    help: 'retry failed certificate jobs now: all of them, or that of one domain',
    examples: ['adit server certs retry', 'adit server certs retry app.example.com'],
    run: ([domain], settings) =>
      withStore(settings, async (store) => {
        const { describeRetries, retryCertificates } = await import('../../certs/index.ts')
        const outcomes = await retryCertificates({ store, clock: systemClock }, domain?.toLowerCase())
        if (domain !== undefined && outcomes.length === 0)
          throw new CommandFailure(
            `There is no certificate job for ${domain}. adit server certs lists them all; write the domain as it is shown there.`,
          )
        print(describeRetries(outcomes, systemClock.now()))
      }),
  },
  {
    words: ['events'],
    help: 'show the delivery status of every event destination',
    examples: ['adit server events'],
    run: (_args, settings) =>
      withEvents(settings, async (events) => {
        const states = await events.states()
        if (states.length === 0) print('No event destination has received an event yet.')
        for (const state of states) print(JSON.stringify(state))
      }),
  },
  {
    words: ['events', 'dead'],
    operand: 'DESTINATION',
    help: 'list dead letters: events that could not be delivered',
    examples: ['adit server events dead ed_2abc'],
    async run([argument], settings) {
      const destination = requireArgument(argument, 'Name the destination: adit server events dead ed_….')
      await withEvents(settings, async (events, store) => {
        await requireDestination(store, destination)
        const deadLetters = await events.deadLetters(destination, { limit: 1000 })
        if (deadLetters.length === 0) print(`There are no dead letters for ${destination}.`)
        for (const dead of deadLetters) print(JSON.stringify(dead))
      })
    },
  },
  {
    words: ['events', 'replay'],
    operand: 'DESTINATION',
    maxOperands: Number.POSITIVE_INFINITY,
    help: 'replay dead letters',
    examples: ['adit server events replay ed_2abc', 'adit server events replay ed_2abc ev_2def'],
    async run([argument, ...ids], settings) {
      const destination = requireArgument(argument, 'Name the destination: adit server events replay ed_….')
      await withEvents(settings, async (events, store) => {
        await requireDestination(store, destination)
        const count = await events.replay(destination, ids.length === 0 ? undefined : ids)
        print(`${count} events will be delivered again (${formatTimestamp(systemClock.now())}).`)
        if (count < new Set(ids).size)
          throw new CommandFailure(
            `The other ids are not dead letters. List those with: adit server events dead ${destination}`,
          )
      })
    },
  },
  {
    words: ['ipdata', 'import'],
    operand: 'FILE [CATEGORY]',
    maxOperands: 2,
    help: 'import IP data for traffic policies: an MMDB database or a list of ranges',
    examples: [
      'adit server ipdata import GeoLite2-City.mmdb',
      'adit server ipdata import blocked.txt blocklist.own',
    ],
    async run([argument, category], settings) {
      const path = requireArgument(argument, 'Name the file: adit server ipdata import FILE.')
      const bytes = await readFile(path).catch((error: unknown) => {
        throw new CommandFailure(`${path} cannot be read: ${describeFileError(error)}`)
      })
      const { openIpDataFiles } = await loadStore()
      const { importIpData } = await loadIpData()
      await withStore(settings, async (store) =>
        print(await importIpData(openIpDataFiles(store), { path, bytes, category }, systemClock)),
      )
    },
  },
  {
    words: ['ipdata', 'list'],
    help: 'list the imported IP data files',
    examples: ['adit server ipdata list'],
    run: (_args, settings) =>
      withStore(settings, async (store) => {
        const { openIpDataFiles } = await loadStore()
        const { describeIpDataFile } = await loadIpData()
        const files = await openIpDataFiles(store).list()
        if (files.length === 0)
          print('No IP data is imported. Import a file with: adit server ipdata import FILE')
        for (const file of files) print(describeIpDataFile(file))
      }),
  },
  {
    words: ['ipdata', 'remove'],
    operand: 'NAME',
    help: 'remove an imported file',
    examples: ['adit server ipdata remove GeoLite2-City.mmdb'],
    async run([argument], settings) {
      const name = requireArgument(argument, 'Name the file: adit server ipdata remove NAME.')
      const { openIpDataFiles } = await loadStore()
      await withStore(settings, async (store) => {
        if (!(await openIpDataFiles(store).remove(name)))
          throw new CommandFailure(`No file ${name} is imported. List them with: adit server ipdata list`)
      })
      print(`${name} is removed.`)
    },
  },
  {
    words: ['downloads', 'add'],
    operand: 'RELEASE_DIR [KEY]',
    maxOperands: 2,
    help: 'offer the agents of a release for download, verified by its checksums and by KEY or the key inside',
    examples: ['adit server downloads add dist/release', 'adit server downloads add ./release publisher.pub'],
    async run([argument, key], settings) {
      const directory = requireArgument(
        argument,
        'Name the directory of the release: adit server downloads add RELEASE_DIR.',
      )
      const { addRelease } = await import('../downloads/downloads.ts')
      const release = await addRelease(settings.dataDir, directory, key)
      print(`Version ${release.version} is available for download: ${[...release.files.keys()].join(', ')}`)
      if (release.key === undefined)
        print('It is not signed, so agents that install it do not update from this server.')
    },
  },
  {
    words: ['downloads', 'list'],
    help: 'list the files offered for download, with their SHA-256',
    examples: ['adit server downloads list'],
    async run(_args, settings) {
      const { readAddedRelease } = await import('../downloads/downloads.ts')
      const release = await readAddedRelease(settings.dataDir)
      if (release === undefined)
        print('No release was added. A server that is a single executable offers itself.')
      for (const [name, { sha256 }] of release?.files ?? []) print(`${sha256}  ${name}`)
    },
  },
  {
    words: ['downloads', 'remove'],
    help: 'offer only the executable of this server',
    examples: ['adit server downloads remove'],
    async run(_args, settings) {
      const { removeRelease } = await import('../downloads/downloads.ts')
      if (!(await removeRelease(settings.dataDir))) throw new CommandFailure('No release was added.')
      print('The release is removed.')
    },
  },
  {
    words: ['backup'],
    operand: 'FILE',
    help: 'write all state except the master key to one file, while the server runs',
    examples: [
      'adit server backup /var/backups/adit.db',
      'ADIT_DATABASE_URL=postgres://adit:…@localhost/adit adit server backup all.db',
    ],
    async run([argument], settings) {
      const file = requireArgument(argument, 'Name the file to write: adit server backup FILE.')
      const { backup } = await loadStore()
      await backup({ url: settings.databaseUrl, dataDir: settings.dataDir, log: silentLog }, file)
      print(`Backup written to ${file}. Store the master key separately; a restored server needs both.`)
    },
  },
  {
    words: ['restore'],
    operand: 'FILE',
    help: 'fill an empty data directory or database from a backup',
    examples: ['adit server restore /var/backups/adit.db --data-dir /var/lib/adit'],
    async run([argument], settings) {
      const file = requireArgument(argument, 'Name the backup file: adit server restore FILE.')
      const { restore } = await loadStore()
      const { verified } = await restore(
        { url: settings.databaseUrl, dataDir: settings.dataDir, log: silentLog },
        file,
      )
      if (!verified)
        process.stderr.write(
          `WARNING:  ${file} has no digest, like backups of earlier releases, so damage to it would go unnoticed.\n`,
        )
      print(`Restored from ${file}. Put the master key back, then start the server.`)
    },
  },
  {
    words: ['repair'],
    help: 'report what a damaged database has lost; --accept-loss continues with the rest and keeps copies of all files',
    examples: ['adit server repair', 'adit server repair --accept-loss'],
    switches: ['accept-loss'],
    async run(_args, settings, switches) {
      if (settings.databaseUrl !== undefined)
        throw new CommandFailure('A PostgreSQL database is repaired with its own tools, or from a backup.')
      const { describeLoss, acceptLoss } = await loadStore()
      await requireDatabase(settings)
      const { dataDir } = settings
      const loss = describeLoss(dataDir)
      if (loss === undefined) {
        print('The database has lost nothing that it had confirmed.')
        return
      }
      if (!switches.has('accept-loss'))
        throw new CommandFailure(
          `${loss}. Restore a backup into an empty data directory (adit server restore), or continue without the missing data: adit server repair --accept-loss`,
        )
      const name = `damaged-${formatTimestamp(systemClock.now()).replaceAll(':', '-')}`
      acceptLoss(dataDir, name)
      print(
        `The database is in use again: ${loss}. Copies of all files as they were are in ${join(dataDir, name)}. A running server notices within seconds.`,
      )
    },
  },
  {
    words: ['rotate-key'],
    help: 'seal all secrets under a new master key, while the server runs',
    examples: ['adit server rotate-key'],
    run: (_args, settings) =>
      withStore(settings, async (store) => {
        const { rotateMasterKey } = await loadStore()
        const { rewrapped } = await rotateMasterKey(store)
        print(`All secrets (${rewrapped}) are sealed under the new master key.`)
      }),
  },
]

/** Finds the subcommand that the arguments name, with its operands and the switches that are set. */
export function parseSubcommand(args: readonly string[]): {
  command: Subcommand
  operands: readonly string[]
  switches: ReadonlySet<string>
} {
  const isFlag = (argument: string) => argument.startsWith('-')
  const { values: formats, rest } = takeFlags(args, [OUTPUT])
  const { command, group, matched } = findCommand(
    subcommands,
    rest.filter((argument) => !isFlag(argument)),
  )
  const { values, rest: words } = takeFlags(rest, switchesOf(command))
  const unknown =
    words.find(isFlag) ?? (command && !command.hasJson && formats.size > 0 ? '--output' : undefined)
  if (unknown !== undefined) throw unknownFlag(unknown)
  if (command === undefined) throw unknownSubcommand(group, matched, words[matched.length])
  const operands = words.slice(matched.length)
  const { operand, maxOperands = operand === undefined ? 0 : 1 } = command
  if (operands.length > maxOperands) throw excessOperand(group, matched, operands, maxOperands)
  const switches = [...values].filter(([, [value]]) => value === 'true').map(([{ name }]) => name)
  for (const format of formats.get(OUTPUT) ?? []) {
    if (format !== 'json') throw new CommandFailure(`--output must be json, not "${format}".`)
    switches.push(format)
  }
  return { command, operands, switches: new Set(switches) }
}

const OUTPUT = { name: 'output', kind: 'text' }

const switchesOf = ({ switches = [] }: Partial<Subcommand> = {}) =>
  switches.map((name) => ({ name, kind: 'switch' }))

/** The names of the flags of a subcommand beside the settings. */
export const flagNamesOf = ({ switches = [], hasJson = false }: Subcommand): readonly string[] =>
  hasJson ? [...switches, OUTPUT.name] : switches

function excessOperand(
  group: readonly Subcommand[],
  matched: readonly string[],
  operands: readonly string[],
  maxOperands: number,
): CommandFailure {
  if (group.length > 1) return unknownSubcommand(group, matched, operands[0])
  const name = ['adit server', ...matched].join(' ')
  return new CommandFailure(
    maxOperands === 0
      ? `${name} takes no argument, but got "${operands[0]}". Write: ${name}`
      : `${name} takes one argument, and "${operands[maxOperands]}" is one too many. Write: ${[name, ...operands.slice(0, maxOperands)].join(' ')}`,
  )
}

function unknownSubcommand(
  group: readonly Subcommand[],
  matched: readonly string[],
  word: string | undefined,
): CommandFailure {
  const name = ['adit server', ...matched].join(' ')
  const choices = [...new Set(group.flatMap((each) => each.words[matched.length] ?? []))]
  if (word === undefined) {
    const list = new Intl.ListFormat('en', { type: 'disjunction' }).format(choices)
    return new CommandFailure(`${name} needs a command: ${list}.`)
  }
  const problem = `${name} has no command "${word}".`
  if (matched.length === 0 && ['start', 'run', 'up'].includes(word))
    return new CommandFailure(`${problem} To start the server: adit server`)
  const nearest = findNearest(word, choices)
  return new CommandFailure(
    nearest === undefined
      ? `${problem} adit server --help lists them all.`
      : `${problem} Did you mean: ${name} ${nearest}`,
  )
}
