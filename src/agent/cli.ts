import { Command, CommanderError, Option } from 'commander'
import { CommandFailure, printFailure } from '../base/command-line.ts'
import type { CompletionNode } from '../base/completion.ts'
import { errorMessage } from '../base/error-message.ts'
import { findNearest } from '../base/nearest.ts'
import { formatExamples } from './commands/examples.ts'
import { ignoreBrokenPipe } from './commands/outputs.ts'
import type { ServiceAction } from './commands/service/manager.ts'
import {
  COMMON_FLAGS,
  type CommandFlag,
  type FlagValues,
  isJsonOutput,
  QR_FLAG,
  SESSION_FLAGS,
} from './commands/session-flags.ts'
import { describeUsageError } from './commands/usage-errors.ts'
import { VERSION_TEXT } from './commands/version.ts'

/** Commands of other parts, loaded on demand. */
export interface ExternalCommands {
  /** The client of the management API; receives the arguments after `api`. */
  api(args: string[]): Promise<number>
  account: AccountCommands
  policy: PolicyCommands
  /** The text of `adit help CODE` and `adit help errors`. */
  explainErrors(topic: string): Promise<string>
  /** The commands and flags of other parts, for shell completion. */
  completion(): Promise<readonly CompletionNode[]>
}

interface ApiFlags {
  apiUrl: string | undefined
  apiKey: string | undefined
}

/** The account as one document; both return the exit code. */
export interface AccountCommands {
  apply(
    options: ApiFlags & { file: string | undefined; diff: boolean; prune: boolean; schema: boolean },
    terminal: Output,
  ): Promise<number>
  export(flags: ApiFlags, terminal: Output): Promise<number>
}

/** What stands for the outside when a request is run through a policy. */
interface TrialFlags {
  edge: boolean
  json: boolean
  secrets: readonly string[]
  signedInAs: string | undefined
  ipData: readonly string[]
}

/** The commands of `adit policy`; all return the exit code. */
export interface PolicyCommands {
  check(
    file: string,
    options: { protocol: string | undefined; edge: boolean; json: boolean },
    terminal: Output,
  ): Promise<number>
  test(
    file: string,
    options: TrialFlags & {
      request: string | undefined
      headers: readonly string[]
      body: string | undefined
      clientIp: string | undefined
      responseStatus: string | undefined
      responseHeaders: readonly string[]
    },
    terminal: Output,
  ): Promise<number>
  explain(
    file: string,
    options: TrialFlags & {
      har: string | undefined
      entry: string | undefined
      capture: string | undefined
      webAddr: string | undefined
    },
    terminal: Output,
  ): Promise<number>
  fromEdge(id: string, flags: ApiFlags, terminal: Output): Promise<number>
}

interface Output {
  out(text: string): void
  error(text: string): void
}

/** Runs one command line and returns the exit code. Errors are printed on stderr. */
export async function runCli(argv: readonly string[], external: ExternalCommands): Promise<number> {
  const state = { code: 0 }
  ignoreBrokenPipe()
  try {
    const api = parseApiArguments(argv)
    if (api) return await external.api(await withApiKey(api))
    const [command, topic = ''] = argv
    if (command === 'help' && ERROR_TOPIC.test(topic)) output.out(await external.explainErrors(topic))
    else if (argv.length === 0) output.out(SHORT_HELP)
    else {
      const flags = argv.some((word) => ENDPOINT_COMMANDS.has(word)) ? await loadEndpointFlags() : undefined
      const program = createProgram(state, flags, external)
      const args = normalizeArguments(argv, booleanFlags(flags))
      rejectUnknownTopic(program, args)
      try {
        await program.parseAsync(args, { from: 'user' })
      } catch (error) {
        if (error instanceof CommanderError) return reportUsage(error, program, args)
        throw error
      }
    }
    return state.code
  } catch (error) {
    printFailure(errorMessage(error), output.error)
    return error instanceof CommandFailure ? error.code : 1
  }
}

/** An error code, its number, or the list of all. */
const ERROR_TOPIC = /^(errors|(err_(adit|ngrok)_)?\d+)$/i

function reportUsage(error: CommanderError, program: Command, args: readonly string[]): number {
  if (error.exitCode === 0) return 0
  // A command group has already printed its help, which lists the missing subcommand.
  if (error.code !== 'commander.help') printFailure(describeUsageError(error, program, args), output.error)
  return 1
}

// Loaded on demand: a command starts faster without the agent, the configuration and the declarations it does not use.
const loadTunnelCommands = () => import('./commands/tunnels.ts')
const loadConfigCommands = () => import('./commands/config.ts')
const loadContext = () => import('./commands/context.ts')
const loadEndpointFlags = () => import('./commands/flags.ts')

/** The flags of the commands that create endpoints. */
export type EndpointFlags = Awaited<ReturnType<typeof loadEndpointFlags>>

/** The commands with those flags, and the one that completes them. */
const ENDPOINT_COMMANDS: ReadonlySet<string> = new Set(['http', 'tcp', 'tls', 'tunnel', 'completion'])

const output: Output = {
  out: (text: string) => {
    process.stdout.write(text)
  },
  error: (text: string) => {
    process.stderr.write(text)
  },
}

const SHORT_HELP = `adit - public URLs for local services, on your own server

Usage:
  adit http 3000             give the web service on port 3000 a public URL
  adit tcp 22                give a TCP service a public address
  adit start --all           start what the configuration file defines
  adit server                run a server

  adit help                  all commands
  adit help ERR_ADIT_334     the explanation of an error code
  adit http --help           all flags of a command
`

/**
 * The command tree; shell completions are generated from it too. Without the flags of endpoints it serves all other
 * commands.
 */
export function createProgram(
  state: { code: number },
  flags?: EndpointFlags,
  external?: Pick<ExternalCommands, 'account' | 'completion' | 'policy'>,
): Command {
  const program = new Command('adit')
    .description('public URLs for local services, on your own server')
    .version(VERSION_TEXT, '-v, --version', 'print the version')
    .exitOverride()
    .allowExcessArguments(false)
    .configureOutput({ writeOut: output.out, writeErr: output.out, outputError() {} })
    .configureHelp({ sortSubcommands: false })
  addFlags(program, COMMON_FLAGS)

  program
    .command('server')
    .description('run a server (see: adit server --help)')
    .allowUnknownOption()
    .allowExcessArguments(true)
  for (const kind of ['http', 'tcp', 'tls'] as const) {
    const command = program.command(`${kind} <address>`).description(DESCRIPTIONS[kind])
    addFlags(command, [...(flags?.ENDPOINT_FLAGS[kind] ?? []), ...SESSION_FLAGS])
    command.action(async (address: string) => {
      const { endpointCommand } = await loadTunnelCommands()
      state.code = await endpointCommand(kind, address, valuesOf(command), process.env)
    })
  }

  const start = program
    .command('start [names...]')
    .description('start tunnels and endpoints of the configuration file')
  addFlags(start, [
    { name: 'all', kind: 'bool', help: 'start all of them' },
    { name: 'none', kind: 'bool', help: 'start none: only the session and the local API' },
    QR_FLAG,
    ...SESSION_FLAGS,
    { name: 'metadata', kind: 'text', help: 'free text shown with the session' },
  ])
  start.action(async (names: string[]) => {
    const { startCommand } = await loadTunnelCommands()
    state.code = await startCommand(names, valuesOf(start), process.env)
  })

  const labelled = program
    .command('tunnel <address>')
    .description('start a labelled tunnel for the backends of an edge')
  addFlags(labelled, [...(flags?.LABELLED_FLAGS ?? []), ...SESSION_FLAGS])
  labelled.action(async (address: string) => {
    const { labelledCommand } = await loadTunnelCommands()
    state.code = await labelledCommand(address, valuesOf(labelled), process.env)
  })

  const docker = program
    .command('docker')
    .description('give containers with labels such as adit.http=3000 public URLs while they run')
  addFlags(docker, [
    {
      name: 'docker-host',
      kind: 'text',
      help: 'socket of the container engine (default DOCKER_HOST or unix:///var/run/docker.sock)',
    },
    ...SESSION_FLAGS,
  ])
  docker.action(async () => {
    const { dockerCommand } = await import('./commands/docker.ts')
    state.code = await dockerCommand(valuesOf(docker), process.env)
  })

  addConfigCommands(program, state)
  program
    .command('api')
    .description('call the management API of a server (see: adit api --help)')
    .allowUnknownOption()
    .allowExcessArguments(true)
  addAccountCommands(program, state, external?.account)
  addPolicyCommands(program, state, external?.policy)
  addDiagnose(program, state)
  addServiceCommands(program, state)
  addUpdate(program)
  addSmallCommands(program, external?.completion ?? (async () => []))
  addExamples(program, [])
  return program
}

function addExamples(command: Command, words: readonly string[]): void {
  command.addHelpText('after', () => formatExamples(words.join(' ')))
  for (const each of command.commands) addExamples(each, [...words, each.name()])
}

const DESCRIPTIONS = {
  http: 'give an HTTP service a public URL; ADDRESS is a port, host:port, URL or file:///directory',
  tcp: 'give a TCP service a public address; ADDRESS is a port or host:port',
  tls: 'give a TLS service a public name; ADDRESS is a port or host:port',
}

function addConfigCommands(program: Command, state: { code: number }): void {
  const config = program.command('config').description('read and change the configuration file')
  const env = process.env
  const add = config
    .command('add-authtoken <token>')
    .description('save the authtoken of a server ("-" reads it from standard input)')
  add.action(async (token: string) => {
    const { addAuthtoken } = await loadConfigCommands()
    await addAuthtoken(token, valuesOf(add), env, output.out)
  })
  const key = config
    .command('add-api-key <key>')
    .description('save the key for "adit api" ("-" reads it from standard input)')
  key.action(async (value: string) => {
    const { addApiKey } = await loadConfigCommands()
    await addApiKey(value, valuesOf(key), env, output.out)
  })
  const url = config
    .command('add-connect-url <address>')
    .alias('add-server-addr')
    .description('save the address of the server, host:port')
  url.action(async (address: string) => {
    const { addConnectUrl } = await loadConfigCommands()
    addConnectUrl(address, valuesOf(url), env, output.out)
  })
  const check = config.command('check').description('check the configuration file')
  check.action(async () => {
    const { checkConfig } = await loadConfigCommands()
    await checkConfig(valuesOf(check), env, output.out, output.error)
  })
  const edit = config.command('edit').description('open the configuration file in your editor')
  edit.action(async () => {
    const { editConfig } = await loadConfigCommands()
    state.code = editConfig(valuesOf(edit), env)
  })
  const up = config
    .command('upgrade [version]')
    .description('upgrade the configuration file to a newer version')
  addFlags(up, [
    { name: 'dry-run', kind: 'bool', help: 'print the result without changing the file' },
    { name: 'relocate', kind: 'bool', help: 'move the file to its default location' },
  ])
  up.action(async (version: string | undefined) => {
    const { upgrade } = await loadConfigCommands()
    const values = valuesOf(up)
    const options = { dryRun: values['dry-run'] === 'true', relocate: values.relocate === 'true' }
    upgrade(version, options, values, env, output.out)
  })
}

const API_FLAGS: readonly CommandFlag[] = [
  { name: 'api-url', kind: 'text', help: 'address of the management API' },
  { name: 'api-key', kind: 'text', help: 'key of the management API' },
]

async function apiFlagsOf(values: FlagValues): Promise<ApiFlags> {
  await passSavedApiKey(values)
  return { apiUrl: textOf(values['api-url']), apiKey: textOf(values['api-key']) }
}

function addAccountCommands(
  program: Command,
  state: { code: number },
  account: AccountCommands | undefined,
): void {
  const apply = program.command('apply').description('make the account match a document')
  apply.option('-f, --file <file>', 'the document, YAML or JSON ("-" reads standard input)')
  addFlags(apply, [
    {
      name: 'diff',
      kind: 'bool',
      help: 'print the plan and change nothing; the exit code is 2 if there are differences',
    },
    { name: 'prune', kind: 'bool', help: 'delete what an earlier document held and this one does not' },
    { name: 'schema', kind: 'bool', help: 'print the JSON Schema of documents, for editors' },
    ...API_FLAGS,
  ])
  apply.action(async () => {
    const values = valuesOf(apply)
    const [diff, prune, schema] = ['diff', 'prune', 'schema'].map((name) => values[name] === 'true')
    const options = { file: textOf(values.file), diff: diff!, prune: prune!, schema: schema! }
    state.code = await account!.apply({ ...options, ...(await apiFlagsOf(values)) }, output)
  })
  const exported = program.command('export').description('print the account as a document, without secrets')
  addFlags(exported, API_FLAGS)
  exported.action(async () => {
    state.code = await account!.export(await apiFlagsOf(valuesOf(exported)), output)
  })
}

const EDGE_FLAG: CommandFlag = {
  name: 'edge',
  kind: 'bool',
  help: 'the policy is for an edge or a route of one',
}

const OUTPUT_FLAG = SESSION_FLAGS.filter(({ name }) => name === 'output')

function addPolicyCommands(
  program: Command,
  state: { code: number },
  policy: PolicyCommands | undefined,
): void {
  const parent = program
    .command('policy')
    .description('check and try traffic policies, and print those of edges')
  const check = parent
    .command('check <file>')
    .description('check a traffic policy without a server ("-" reads standard input)')
  addFlags(check, [
    { name: 'protocol', kind: 'text', help: 'of the endpoint: https (default), http, tcp or tls' },
    EDGE_FLAG,
    ...OUTPUT_FLAG,
  ])
  check.action(async (file: string) => {
    const values = valuesOf(check)
    const { protocol, edge } = values
    const options = {
      protocol: textOf(protocol),
      edge: edge === 'true',
      json: isJsonOutput(values),
    }
    state.code = await policy!.check(file, options, output)
  })
  addPolicyTrials(parent, state, policy)
  const fromEdge = parent
    .command('from-edge <id>')
    .description('print the policy that does what the modules of an edge do')
  addFlags(fromEdge, API_FLAGS)
  fromEdge.action(async (id: string) => {
    state.code = await policy!.fromEdge(id, await apiFlagsOf(valuesOf(fromEdge)), output)
  })
}

const TRIAL_FLAGS: readonly CommandFlag[] = [
  { name: 'signed-in-as', kind: 'text', help: 'email address of the visitor, who has signed in' },
  { name: 'secret', kind: 'list', help: 'vault/name=value, what secrets.get() finds; may be repeated' },
  { name: 'ip-data', kind: 'list', help: 'file with facts about addresses; may be repeated' },
  EDGE_FLAG,
  ...OUTPUT_FLAG,
]

const trialFlagsOf = (values: FlagValues): TrialFlags => ({
  edge: values.edge === 'true',
  json: isJsonOutput(values),
  secrets: listOf(values.secret),
  signedInAs: textOf(values['signed-in-as']),
  ipData: listOf(values['ip-data']),
})

/** The commands that run a request through a policy without a server. */
function addPolicyTrials(parent: Command, state: { code: number }, policy: PolicyCommands | undefined): void {
  const test = parent
    .command('test <file>')
    .description('run a request through a traffic policy without a server, and show what each rule does')
  addFlags(test, [
    { name: 'request', kind: 'text', help: "method and URL, such as 'POST https://app.example.com/login'" },
    { name: 'header', kind: 'list', help: '"name: value" of the request; may be repeated' },
    { name: 'body', kind: 'text', help: 'body of the request, or @FILE' },
    { name: 'client-ip', kind: 'text', help: 'address of the visitor (default 203.0.113.1)' },
    { name: 'response-status', kind: 'text', help: 'status that the upstream responds (default 200)' },
    { name: 'response-header', kind: 'list', help: '"name: value" of that response; may be repeated' },
    ...TRIAL_FLAGS,
  ])
  test.action(async (file: string) => {
    const values = valuesOf(test)
    const options = {
      ...trialFlagsOf(values),
      request: textOf(values.request),
      headers: listOf(values.header),
      body: textOf(values.body),
      clientIp: textOf(values['client-ip']),
      responseStatus: textOf(values['response-status']),
      responseHeaders: listOf(values['response-header']),
    }
    state.code = await policy!.test(file, options, output)
  })
  const explain = parent
    .command('explain <file>')
    .description('show what each rule of a traffic policy does with a request that was captured')
  addFlags(explain, [
    { name: 'har', kind: 'text', help: 'HTTP archive that holds the request' },
    { name: 'entry', kind: 'text', help: 'which request of the archive (default 1, the first)' },
    { name: 'capture', kind: 'text', help: "id of a request in the agent's inspector" },
    { name: 'web-addr', kind: 'text', help: "address of the agent's local API (default 127.0.0.1:4040)" },
    ...TRIAL_FLAGS,
  ])
  explain.action(async (file: string) => {
    const values = valuesOf(explain)
    const options = {
      ...trialFlagsOf(values),
      har: textOf(values.har),
      entry: textOf(values.entry),
      capture: textOf(values.capture),
      webAddr: textOf(values['web-addr']),
    }
    state.code = await policy!.explain(file, options, output)
  })
}

function addDiagnose(program: Command, state: { code: number }): void {
  const command = program.command('diagnose').description('test the connection to the server, step by step')
  addFlags(command, SESSION_FLAGS)
  command.option('-4, --ipv4', 'use IPv4 only')
  command.option('-6, --ipv6', 'use IPv6 only')
  command.option('-w, --write-report <file>', 'write a report as JSON, without secrets')
  command.addOption(new Option('-r, --region-of <region>').hideHelp())
  command.action(async () => {
    const { diagnose } = await import('./commands/diagnose.ts')
    const { createContext } = await loadContext()
    const values = valuesOf(command)
    const json = isJsonOutput(values)
    const { keys } = createContext(values, process.env, { stdoutForData: json })
    const { ipv4, ipv6, writeReport } = command.opts<{
      ipv4?: boolean
      ipv6?: boolean
      writeReport?: string
    }>()
    if (ipv4 && ipv6) throw new CommandFailure('-4 and -6 exclude each other; leave both out to use either')
    const family = ipv4 ? 4 : ipv6 ? 6 : undefined
    state.code = await diagnose(keys, { family, report: writeReport, json }, process.env, output.out)
  })
}

function addServiceCommands(program: Command, state: { code: number }): void {
  const parent = program.command('service').description('run the agent as a system service')
  const actions: [ServiceAction, string][] = [
    ['install', 'install the service (requires --config)'],
    ['start', 'start it'],
    ['stop', 'stop it'],
    ['restart', 'stop it and start it again'],
    ['status', 'show whether it runs; the exit code is 3 if not'],
    ['uninstall', 'remove it'],
  ]
  for (const [action, help] of actions) {
    const command = parent.command(action).description(help)
    command.action(async () => {
      const { runServiceAction } = await import('./commands/service/service.ts')
      state.code = await runServiceAction(action, valuesOf(command), process.env, output.out)
    })
  }
  const run = parent.command('run', { hidden: true })
  run.action(async () => {
    const { serviceRunCommand } = await loadTunnelCommands()
    state.code = await serviceRunCommand(valuesOf(run), process.env)
  })
}

function addUpdate(program: Command): void {
  const command = program.command('update').description('install the newest version of the update channel')
  addFlags(command, [
    { name: 'channel', kind: 'text', help: 'stable, beta or unstable' },
    ...SESSION_FLAGS.filter(({ name }) => name === 'update-url' || name === 'update-key'),
  ])
  command.action(async () => {
    const { update } = await import('./commands/update.ts')
    const { createContext } = await loadContext()
    await update(createContext(valuesOf(command), process.env), output.out)
  })
}

function addSmallCommands(program: Command, completion: ExternalCommands['completion']): void {
  program
    .command('version')
    .description('print the version')
    .action(() => output.out(`${VERSION_TEXT}\n`))
  program
    .command('completion [shell]')
    .description('print completion code for bash, zsh, fish or powershell')
    .action(async (shell: string | undefined) => {
      const { generateCompletion } = await import('./commands/completion.ts')
      output.out(generateCompletion(shell, program, await completion(), process.env))
    })
  program
    .command('credits')
    .description('print the packages this program is built on')
    .action(async () => output.out((await import('./commands/credits.ts')).formatCredits()))
}

/** Flags that stand alone or take `=true` and `=false`. */
function booleanFlags(flags: EndpointFlags | undefined): ReadonlySet<string> {
  const { http = [], tcp = [], tls = [] } = flags?.ENDPOINT_FLAGS ?? {}
  const endpoint = [...http, ...tcp, ...tls, ...(flags?.LABELLED_FLAGS ?? [])]
  const names = endpoint.filter(({ kind }) => kind === 'bool').map(({ name }) => name)
  return new Set([
    'all',
    'none',
    'dry-run',
    'relocate',
    'edge',
    'diff',
    'prune',
    'schema',
    QR_FLAG.name,
    ...names,
  ])
}

function addFlags(command: Command, flags: readonly CommandFlag[]): void {
  for (const { name, kind, help, replacement, commaSeparated } of flags) {
    const option = new Option(kind === 'bool' ? `--${name} [true|false]` : `--${name} <value>`, help)
    if (replacement !== undefined) option.hideHelp()
    if (kind === 'list') {
      option.argParser((value: string, previous: string[] | undefined) => [
        ...(previous ?? []),
        ...(commaSeparated ? value.split(',') : [value]),
      ])
    }
    if (kind === 'bool') {
      option.argParser((value: string) => {
        if (value === 'true' || value === 'false') return value
        throw new CommandFailure(`--${name} must be true or false, not "${value}"`)
      })
    }
    command.addOption(option)
  }
}

/** Flag values by flag name. */
function valuesOf(command: Command): FlagValues {
  const values: Record<string, string | string[] | undefined> = {}
  for (let level: Command | null = command; level; level = level.parent) {
    const options = level.opts<Record<string, string | string[] | undefined>>()
    for (const option of level.options) {
      const value = options[option.attributeName()]
      if (option.long && value !== undefined) values[option.long.slice(2)] ??= value
    }
  }
  return values
}

/** Splits `--flag=value` in two, gives boolean flags a value and rejects long flags with a single hyphen. */
function normalizeArguments(argv: readonly string[], booleans: ReadonlySet<string>): string[] {
  return argv.flatMap((argument, index) => {
    const single = /^-([a-z][a-z0-9-]+)(=.*)?$/i.exec(argument)
    if (single)
      throw new CommandFailure(
        `there is no flag -${single[1]}; long flags take two hyphens.\nWrite: --${single[1]}`,
      )
    if (!argument.startsWith('--')) return [argument]
    const equals = argument.indexOf('=')
    if (equals > 0) return [argument.slice(0, equals), argument.slice(equals + 1)]
    if (!booleans.has(argument.slice(2)) || /^(true|false)$/.test(argv[index + 1] ?? '')) return [argument]
    return [argument, 'true']
  })
}

/** Rejects an unknown topic of `help`, which commander would ignore. */
function rejectUnknownTopic(program: Command, words: readonly string[]): void {
  let level = program
  let help = false
  for (const word of words) {
    const match = level.commands.find((each) => each.name() === word || each.aliases().includes(word))
    if (match) level = match
    else if (help) {
      const nearestName = findNearest(
        word,
        level.commands.map((each) => each.name()),
      )
      const suggestion = nearestName === undefined ? '' : `; did you mean "${nearestName}"?`
      throw new CommandFailure(`there is no command "${word}"${suggestion}\nAll commands: adit help`)
    } else if (word === 'help') help = true
    else return
  }
}

/** The arguments after `api` when that is the command; common flags may precede it. */
function parseApiArguments(argv: readonly string[]): { leadingFlags: string[]; args: string[] } | undefined {
  const common = new Set(COMMON_FLAGS.map(({ name }) => `--${name}`))
  let index = 0
  while (index < argv.length && argv[index]!.startsWith('--')) {
    const [flag = ''] = argv[index]!.split('=')
    if (!common.has(flag)) return undefined
    index += argv[index]!.includes('=') ? 1 : 2
  }
  return argv[index] === 'api'
    ? { leadingFlags: argv.slice(0, index), args: argv.slice(index + 1) }
    : undefined
}

/** Passes the key saved by `config add-api-key` to the API client, which reads it from the environment. */
async function passSavedApiKey(values: FlagValues): Promise<void> {
  const { createContext } = await loadContext()
  const { keys } = createContext(values, process.env, { stdoutForData: true })
  if (keys.api_key !== undefined) process.env.ADIT_API_KEY ??= keys.api_key
}

const listOf = (value: FlagValues[string]): readonly string[] => (Array.isArray(value) ? value : [])

const textOf = (value: FlagValues[string]) => (typeof value === 'string' ? value : undefined)

/** The arguments of the API client without common flags. */
async function withApiKey({
  leadingFlags,
  args,
}: {
  leadingFlags: string[]
  args: string[]
}): Promise<string[]> {
  const globals = new Command().exitOverride().allowUnknownOption().allowExcessArguments(true)
  addFlags(globals, COMMON_FLAGS)
  const { unknown, operands } = globals.parseOptions([...leadingFlags, ...args])
  await passSavedApiKey(valuesOf(globals))
  return [...operands, ...unknown]
}
