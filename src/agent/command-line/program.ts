import { Command } from 'commander'
import { formatExamples } from '../commands/examples.ts'
import { COMMON_FLAGS, QR_FLAG, SESSION_FLAGS } from '../commands/session-flags.ts'
import { VERSION_TEXT } from '../commands/version.ts'
import { addAccountCommands } from './account.ts'
import { addConfigCommands } from './config.ts'
import type { ExternalCommands } from './external.ts'
import { addDiagnose, addServiceCommands, addUpdate } from './maintenance.ts'
import { addFlags, output, valuesOf } from './options.ts'
import { addPolicyCommands } from './policy.ts'

// Loaded on demand: a command starts faster without the agent, the configuration and the declarations it does not use.
const loadTunnelCommands = () => import('../commands/tunnels.ts')
const loadEndpointFlags = () => import('../commands/flags.ts')

/** The flags of the commands that create endpoints. */
export type EndpointFlags = Awaited<ReturnType<typeof loadEndpointFlags>>

/** The commands with those flags, and the one that completes them. */
const ENDPOINT_COMMANDS: ReadonlySet<string> = new Set(['http', 'tcp', 'tls', 'tunnel', 'completion'])

/** The command tree for a command line. */
export async function createProgramFor(
  argv: readonly string[],
  state: { code: number },
  external: ExternalCommands,
): Promise<Command> {
  const hasEndpoint = argv.some((word) => ENDPOINT_COMMANDS.has(word))
  return createProgram(state, hasEndpoint ? await loadEndpointFlags() : undefined, external)
}

/**
 * The command tree; shell completions are generated from it too. Without the flags of endpoints it serves all other
 * commands.
 */
export function createProgram(
  state: { code: number },
  flags?: EndpointFlags,
  external?: Pick<ExternalCommands, 'account' | 'completion' | 'loadRequestCheck' | 'policy'>,
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
    .description('start tunnels and endpoints from the configuration file')
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
    const { dockerCommand } = await import('../commands/docker.ts')
    state.code = await dockerCommand(valuesOf(docker), process.env)
  })

  addConfigCommands(program, state, external?.loadRequestCheck)
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

function addSmallCommands(program: Command, completion: ExternalCommands['completion']): void {
  program
    .command('version')
    .description('print the version')
    .action(() => output.out(`${VERSION_TEXT}\n`))
  program
    .command('completion [shell]')
    .description('print the completion script for bash, zsh, fish or powershell')
    .action(async (shell: string | undefined) => {
      const { generateCompletion } = await import('../commands/completion.ts')
      output.out(generateCompletion(shell, program, await completion(), process.env))
    })
  program
    .command('credits')
    .description('print the packages this program is built on')
    .action(async () => output.out((await import('../commands/credits.ts')).formatCredits()))
}
