import { execFileSync } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
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
