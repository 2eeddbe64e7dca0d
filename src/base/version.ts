import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const manifest = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
  version: string
}

/** The version of this program. */
export const VERSION: string = manifest.version

/** The directory this program is installed in: where `bin`, `src` and `package.json` are. */
export const INSTALL_ROOT: string = fileURLToPath(new URL('../..', import.meta.url)).replace(/\/$/, '')

/** The installation of the launcher: the same, unless an update runs from its `versions` directory. */
export const BASE_ROOT: string = INSTALL_ROOT.replace(/\/versions\/[^/]+$/, '')
