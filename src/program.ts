import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import type { CompletionNode } from './base/process/completion.ts'
import { dropOwnPath } from './base/process/drop-in.ts'
import { IS_EXECUTABLE } from './base/process/program-files.ts'
import { runCommand } from './base/process/run-command.ts'
import { INSTALL_ROOT } from './base/version.ts'

/** Commands that not every executable has. */
export interface ProgramCommands {
  /** Receives the arguments after `server`. */
  server(args: string[]): Promise<number>
  /** The commands and flags of `adit server`. */
  serverCompletion(): Promise<readonly CompletionNode[]>
}

/** Answered without loading the command line: scripts and editors ask for the version often. */
const VERSION_WORDS = ['version', '--version', '-v']

const loadPolicyCommands = () => import('./policy-cli/index.ts')
const loadApiClient = () => import('./api-cli/index.ts')

/** Runs the command line of this process. */
export async function runProgram(commands: ProgramCommands): Promise<void> {
  // Strips types and compiles code once per installation instead of at every start.
  if (!IS_EXECUTABLE) enableCompileCache(join(INSTALL_ROOT, 'node_modules', '.cache', 'adit'))
  await runCommand(() => runArguments(dropOwnPath(process.argv.slice(2)), commands))
}

/** Runs a command line and returns its exit code. Each part is loaded on demand. */
export async function runArguments(
  args: string[],
  { server, serverCompletion }: ProgramCommands,
): Promise<number> {
  const [first = '', ...rest] = args
  if (first === 'server') return server(rest)
  if (rest.length === 0 && VERSION_WORDS.includes(first))
    return (await import('./agent/commands/version.ts')).printVersion()
  const { runCli } = await import('./agent/cli.ts')
  return runCli(args, {
    api: async (apiArgs) => (await loadApiClient()).runApi(apiArgs),
    account: {
      apply: async (...args) => (await loadApiClient()).applyAccount(...args),
      export: async (...args) => (await loadApiClient()).exportAccount(...args),
    },
    policy: {
      check: async (...args) => (await loadPolicyCommands()).checkPolicy(...args),
      test: async (...args) => (await loadPolicyCommands()).testPolicy(...args),
      explain: async (...args) => (await loadPolicyCommands()).explainPolicy(...args),
      fromEdge: async (...args) => (await loadPolicyCommands()).printEdgePolicy(...args),
    },
    loadRequestCheck: async () => (await import('./sessions/bind/bind-request.ts')).checkRequest,
    explainErrors: async (topic) => (await import('./errors/index.ts')).explainErrors(topic),
    completion: async () => [
      ...(await (await loadApiClient()).apiCompletion()),
      ...(await serverCompletion()),
    ],
  })
}
