import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { IS_EXECUTABLE, readProgramFileSync } from './process/program-files.ts'

/**
 * The directory this program is installed in, where `package.json` is: two levels above this file, which is in `dist/lib`
 * when built. A single executable stands for the directory of its own files.
 */
export const INSTALL_ROOT: string = IS_EXECUTABLE
  ? process.execPath
  : fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

const manifest = JSON.parse(readProgramFileSync(join(INSTALL_ROOT, 'package.json')).toString()) as {
  version: string
}

/** The version of this program. */
export const VERSION: string = manifest.version

/** What `adit version` prints; an update of a single executable compares it. */
export const describeVersion = (version: string = VERSION): string => `adit version ${version}`

/** The installation of the launcher: the same, unless an update runs from its `versions` directory. */
export const BASE_ROOT: string = INSTALL_ROOT.replace(/\/versions\/[^/]+$/, '')

/** Program and arguments that start this installation again. */
export const LAUNCH_COMMAND: readonly [string, ...string[]] = launchCommand()

/** The single executable, the script of a checkout, or this runtime with the built launcher, also of a checkout. */
function launchCommand(): [string, ...string[]] {
  if (IS_EXECUTABLE) return [process.execPath]
  const script = join(BASE_ROOT, 'bin', 'adit')
  const isBuilt = fileURLToPath(import.meta.url).startsWith(join(BASE_ROOT, 'dist'))
  return existsSync(script) && !isBuilt ? [script] : [process.execPath, join(BASE_ROOT, 'bin', 'adit.cjs')]
}
