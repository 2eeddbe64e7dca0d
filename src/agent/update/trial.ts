import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describeVersion } from '../../base/version.ts'

const run = promisify(execFile)
const TRIAL_TIMEOUT_MS = 30_000

/** Starts a version, so that one that this system cannot run never replaces one that runs. */
export async function requireVersion(
  [program, ...args]: readonly [string, ...string[]],
  version: string,
): Promise<void> {
  const { stdout } = await run(program, [...args, 'version'], { timeout: TRIAL_TIMEOUT_MS }).catch(
    (error: unknown) => {
      throw new Error(`version ${version} does not start on this system, so nothing was changed`, {
        cause: error,
      })
    },
  )
  if (stdout.trim() !== describeVersion(version))
    throw new Error(`the update reports "${stdout.trim().slice(0, 100)}", not version ${version}`)
}
