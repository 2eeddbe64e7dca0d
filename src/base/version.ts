import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** The version of this program. */
export const VERSION: string = manifest.version

/** The directory this program is installed in, where `package.json` is. This file is two levels below it, in `dist/lib` when built. */
export const INSTALL_ROOT: string = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

/** The installation of the launcher: the same, unless an update runs from its `versions` directory. */
export const BASE_ROOT: string = INSTALL_ROOT.replace(/\/versions\/[^/]+$/, '')

const SOURCE_LAUNCHER = join(BASE_ROOT, 'bin', 'adit')

/** Program and arguments that start this installation again: the script of a checkout, or this runtime with the built launcher. */
export const LAUNCH_COMMAND: readonly [string, ...string[]] = existsSync(SOURCE_LAUNCHER)
  ? [SOURCE_LAUNCHER]
  : [process.execPath, join(BASE_ROOT, 'bin', 'adit.cjs')]
