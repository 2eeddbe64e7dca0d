// Starts the services shared by a test run, runs a command with them, and exits with its code:
//   node scripts/test-services.ts node --test
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { startPostgres } from '../test/support/postgres.ts'

const [program, ...args] = process.argv.slice(2)
if (!program) throw new Error('Name the command to run with the test services.')

const postgres = await startPostgres()
const env = {
  ...process.env,
  ADIT_TEST_POSTGRES_URL: postgres.url,
  ADIT_TEST_POSTGRES_DATA: postgres.dataDir,
  // Each test file is a process of its own; without the cache each one strips and compiles the same modules.
  NODE_COMPILE_CACHE: join(import.meta.dirname, '..', 'node_modules', '.cache', 'adit-tests'),
}
const command = spawn(program, args, { env, stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => command.kill(signal))
const [code] = await once(command, 'exit')
await postgres.dispose()
process.exitCode = code ?? 1
