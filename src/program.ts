import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import type { CompletionNode } from './base/process/completion.ts'
import { dropOwnPath } from './base/process/drop-in.ts'
import { IS_EXECUTABLE } from './base/process/program-files.ts'
import { runCommand } from './base/process/run-command.ts'
import { INSTALL_ROOT } from './base/version.ts'
import type { FlagValues, Program, ProgramCommand } from './command-line/index.ts'

/** `adit server`, which not every executable has. */
export interface ServerCommand {
  /** Receives the arguments after `server`. */
  run(args: readonly string[]): Promise<number>
  /** Its commands and flags. */
  completion(): Promise<readonly CompletionNode[]>
}

/** Answered without loading the command line: scripts and editors ask for the version often. */
const VERSION_WORDS = ['version', '--version', '-v']

/** An error code, its number, or the list of all. */
const ERROR_TOPIC = /^(errors|(err_(adit|ngrok)_)?\d+)$/i

const SHORT_HELP = `adit - public URLs for local services, on your own server

Usage:
  adit http 3000             give the web service on port 3000 a public URL
  adit tcp 22                give a TCP service a public address
  adit start --all           start everything in the configuration file
  adit server                run a server

  adit help                  all commands
  adit help ERR_ADIT_334     explain an error code
  adit http --help           all flags of a command
`

/** Names that other tools use, with the command line that does it here. */
const SYNONYMS: Readonly<Record<string, string>> = {
  login: 'config add-authtoken TOKEN',
  auth: 'config add-authtoken TOKEN',
  authtoken: 'config add-authtoken TOKEN',
  expose: 'http',
  share: 'http',
  forward: 'http',
  https: 'http',
  serve: 'server',
  up: 'server',
  list: 'api endpoints list',
  ls: 'api endpoints list',
  status: 'api endpoints list',
  upgrade: 'update',
}

/** Runs the command line of this process. */
export async function runProgram(server: ServerCommand): Promise<void> {
  // Strips types and compiles code once per installation instead of at every start.
  if (!IS_EXECUTABLE) enableCompileCache(join(INSTALL_ROOT, 'node_modules', '.cache', 'adit'))
  await runCommand(() => runArguments(dropOwnPath(process.argv.slice(2)), server))
}

/** Runs a command line and returns its exit code. Each part is loaded on demand. */
export async function runArguments(args: readonly string[], server: ServerCommand): Promise<number> {
  const [first = '', ...rest] = args
  if (first === 'server') return server.run(rest)
  if (rest.length === 0 && VERSION_WORDS.includes(first))
    return (await import('./agent/commands/version.ts')).printVersion()
  const { ignoreBrokenPipe } = await import('./agent/commands/outputs.ts')
  ignoreBrokenPipe()
  if (args.length === 0) {
    process.stdout.write(SHORT_HELP)
    return 0
  }
  const { runCommandLine } = await import('./command-line/index.ts')
  return runCommandLine(args, await loadProgram(server))
}

/** All commands, in the order of the help. */
export async function loadProgram(server: ServerCommand): Promise<Program> {
  const [commandLine, agent, { COMMON_FLAGS }, { VERSION_TEXT }, api, policy] = await Promise.all([
    import('./command-line/index.ts'),
    import('./agent/commands/list.ts'),
    import('./agent/commands/session-flags.ts'),
    import('./agent/commands/version.ts'),
    import('./api-cli/index.ts'),
    import('./policy-cli/index.ts'),
  ])
  const { completionNodes, defineCommand, generateCompletion, SHELLS } = commandLine
  const commands: readonly ProgramCommand[] = [
    defineCommand({ usage: '', help: 'public URLs for local services, on your own server' }),
    defineCommand({ usage: 'server', help: 'run a server (see: adit server --help)', delegate: server }),
    ...agent.tunnelCommands,
    ...agent.configCommands(async () => (await import('./sessions/bind/bind-request.ts')).checkRequest),
    api.apiCommand(passSavedKey),
    ...api.accountCommands(passSavedKey),
    ...policy.policyCommands(passSavedKey),
    ...agent.maintenanceCommands,
    defineCommand({
      usage: 'completion [shell]',
      help: 'print the completion script for bash, zsh, fish or powershell',
      examples: [
        ['source <(adit completion bash)', 'complete commands and flags in this shell'],
        ['adit completion fish > ~/.config/fish/completions/adit.fish', 'in every new fish shell'],
      ],
      choices: SHELLS,
      run: async ({ operands: [shell], out }) =>
        out(generateCompletion(shell, await completionNodes(commands, COMMON_FLAGS), process.env)),
    }),
    agent.creditsCommand,
  ]
  return {
    commands,
    commonFlags: COMMON_FLAGS,
    version: VERSION_TEXT,
    synonyms: SYNONYMS,
    topics: async (word) =>
      ERROR_TOPIC.test(word) ? (await import('./errors/index.ts')).explainErrors(word) : undefined,
  }
}

/** Passes the key saved by `config add-api-key` to the API client, which reads it from the environment. */
async function passSavedKey(values: FlagValues): Promise<void> {
  const { createContext } = await import('./agent/commands/context.ts')
  const { keys } = createContext(values, process.env, { stdoutForData: true })
  if (keys.api_key !== undefined) process.env.ADIT_API_KEY ??= keys.api_key
}
