// Starts the services shared by a test run, runs a command with them, and exits with its code:
//   node scripts/test-services.ts [--fast] node --test
// With --fast, tests start `adit` from its build (`npm run build`) instead of from its sources, and their temporary files are in
// memory where the machine has room for them: a commit then waits for no disk.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startPostgres } from '../test/support/postgres.ts'

const words = process.argv.slice(2)
const fast = words[0] === '--fast'
const [program, ...args] = fast ? words.slice(1) : words
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

const MEMORY = '/dev/shm'
const MIN_FREE_BYTES = 4 * 2 ** 30

/** Makes a directory in memory; undefined where there is too little of it, or where it runs no programs. */
function createMemoryDir(): string | undefined {
  let directory: string | undefined
  try {
    const { bavail, bsize } = statfsSync(MEMORY)
    if (bavail * bsize < MIN_FREE_BYTES) return undefined
    directory = mkdtempSync(join(MEMORY, 'adit-tests-'))
    // Like /tmp: PostgreSQL runs as a user of its own.
    chmodSync(directory, 0o1777)
    const probe = join(directory, 'probe')
    writeFileSync(probe, '#!/bin/sh\n', { mode: 0o755 })
    execFileSync(probe)
    return directory
  } catch {
    if (directory !== undefined) rmSync(directory, { recursive: true, force: true })
    return undefined
  }
}

const memoryDir = fast ? createMemoryDir() : undefined
if (memoryDir !== undefined) process.env.TMPDIR = memoryDir
const postgres = await startPostgres()
const env = {
  ...process.env,
  ADIT_TEST_POSTGRES_URL: postgres.url,
  ADIT_TEST_POSTGRES_DATA: postgres.dataDir,
  // Each test file is a process of its own; without the cache each one strips and compiles the same modules.
  NODE_COMPILE_CACHE: cache,
  ...(fast && { ADIT_TEST_PROGRAM: await writeLauncher() }),
}
const command = spawn(program, args, { env, stdio: 'inherit' })
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => command.kill(signal))
const [code] = await once(command, 'exit')
await postgres.dispose()
if (memoryDir !== undefined) rmSync(memoryDir, { recursive: true, force: true })
process.exitCode = code ?? 1
