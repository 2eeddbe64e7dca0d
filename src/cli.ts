import { enableCompileCache } from 'node:module'
import { fileURLToPath } from 'node:url'
import { runCommand } from './base/run-command.ts'

// Strips types and compiles code once per installation instead of at every start.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/adit', import.meta.url)))

/** The one executable. Each part is loaded on demand, so that the agent stays light. */
const [command, ...rest] = process.argv.slice(2)

async function run(): Promise<number> {
  if (command === 'server') return (await import('./server/cli.ts')).runServer(rest)
  const { runCli } = await import('./agent/cli.ts')
  return runCli(process.argv.slice(2), { api: async (args) => (await loadApiClient()).runApi(args) })
}

async function loadApiClient(): Promise<{ runApi(args: string[]): Promise<number> }> {
  const path = './api-cli/index.ts'
  return import(path)
}

await runCommand(run)
