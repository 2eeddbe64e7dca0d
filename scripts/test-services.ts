// Starts the services shared by a test run, runs a command with them, and exits with its code:
//   node scripts/test-services.ts [--built] node --test
// With --built, tests start `adit` from its build (`npm run build`) instead of from its sources.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startPostgres } from '../test/support/postgres.ts'

const words = process.argv.slice(2)
const built = words[0] === '--built'
const [program, ...args] = built ? words.slice(1) : words
if (!program) throw new Error('Name the command to run with the test services.')

const root = join(import.meta.dirname, '..')
const cache = join(root, 'node_modules', '.cache', 'adit-tests')

/** A launcher that needs no Node in the `PATH`: tests choose their own. */
async function writeLauncher(): Promise<string> {
  const launcher = join(cache, 'adit')
  await mkdir(cache, { recursive: true })
  await writeFile(launcher, `#!/bin/sh\nexec '${process.execPath}' '${root}/bin/adit.cjs' "$@"\n`, {
    mode: 0o755,
  })
  return launcher
}

const postgres = await startPostgres()
const env = {
  ...process.env,
  ADIT_TEST_POSTGRES_URL: postgres.url,
  ADIT_TEST_POSTGRES_DATA: postgres.dataDir,
  // Each test file is a process of its own; without the cache each one strips and compiles the same modules.
  NODE_COMPILE_CACHE: cache,
  ...(built && { ADIT_TEST_PROGRAM: await writeLauncher() }),
}
const command = spawn(program, args, { env, stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => command.kill(signal))
const [code] = await once(command, 'exit')
await postgres.dispose()
process.exitCode = code ?? 1
