import { homedir } from 'node:os'
import { join } from 'node:path'

/** Environment variables like `process.env`; a parameter, so that tests leave the real ones alone. */
export type Env = Readonly<Record<string, string | undefined>>

const homeDirectory = (env: Env) => env.HOME || env.USERPROFILE || homedir()

/** Where the configuration file is read, or created, when `--config` names none. */
export function defaultConfigPath(env: Env, platform: NodeJS.Platform = process.platform): string {
  if (env.XDG_CONFIG_HOME) return join(env.XDG_CONFIG_HOME, 'adit', 'adit.yml')
  if (platform === 'darwin')
    return join(homeDirectory(env), 'Library', 'Application Support', 'adit', 'adit.yml')
  if (platform === 'win32')
    return join(env.LOCALAPPDATA || join(homeDirectory(env), 'AppData', 'Local'), 'adit', 'adit.yml')
  return join(homeDirectory(env), '.config', 'adit', 'adit.yml')
}

/** The default data directory of a server on this machine. */
export function defaultDataDir(env: Env): string {
  if (env.ADIT_DATA_DIR) return env.ADIT_DATA_DIR
  return env.XDG_DATA_HOME
    ? join(env.XDG_DATA_HOME, 'adit')
    : join(homeDirectory(env), '.local', 'share', 'adit')
}
