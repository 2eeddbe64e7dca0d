import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { runCommand } from './base/run-command.ts'
import { INSTALL_ROOT } from './base/version.ts'

/** Commands that not every executable has. */
export interface ProgramCommands {
  /** Receives the arguments after `server`. */
  server(args: string[]): Promise<number>
}

/** Runs the command line of this process. Each part is loaded on demand. */
export async function runProgram({ server }: ProgramCommands): Promise<void> {
  // Strips types and compiles code once per installation instead of at every start.
  enableCompileCache(join(INSTALL_ROOT, 'node_modules', '.cache', 'adit'))
  await runCommand(async () => {
    const args = process.argv.slice(2)
    if (args[0] === 'server') return server(args.slice(1))
    const { runCli } = await import('./agent/cli.ts')
    return runCli(args, { api: async (rest) => (await import('./api-cli/index.ts')).runApi(rest) })
  })
}
