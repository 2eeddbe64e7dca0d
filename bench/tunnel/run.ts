import { execFileSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { stopAll } from './processes.ts'
import { Results } from './results.ts'

/** The command line of the benchmark, the same in the process that measures packet loss. */
export const { values: flags } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
    fresh: { type: 'boolean', default: false },
    part: { type: 'string', multiple: true },
    rounds: { type: 'string' },
    seconds: { type: 'string' },
    help: { type: 'boolean', short: 'h', default: false },
  },
})

export const RESULTS_FILE = join(tmpdir(), `adit-bench-tunnel${flags.quick ? '-quick' : ''}.jsonl`)

/** Opens the results of this commit and these settings. */
export function openResults(): Results {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  return new Results(RESULTS_FILE, {
    commit,
    rounds: Number(flags.rounds ?? (flags.quick ? 1 : 3)),
    seconds: Number(flags.seconds ?? (flags.quick ? 1 : 2)),
  })
}

/** Runs `work` with a directory for its files, and stops every program it has started. */
export async function withPrograms(work: (dir: string) => Promise<void>): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), 'adit-bench-'))
  chmodSync(dir, 0o755) // nginx workers started by root run as another user.
  const interrupt = () => void stopAll().finally(() => process.exit(130))
  process.on('SIGINT', interrupt).on('SIGTERM', interrupt)
  try {
    await work(dir)
  } finally {
    await stopAll()
    process.off('SIGINT', interrupt).off('SIGTERM', interrupt)
    rmSync(dir, { recursive: true, force: true })
  }
}
