import { readFileSync } from 'node:fs'
import { ConfigError } from '../config/error.ts'
import { reason } from '../config/file.ts'
import { type AgentKeys, agentKeys } from '../config/keys.ts'
import { type Config, loadConfig } from '../config/load.ts'
import { defaultConfigPath, type Env } from '../config/paths.ts'
import { object, type Path, type Problem } from '../config/shape.ts'
import { type AgentLog, createAgentLog, openLogOutput, silentAgentLog } from '../log/log.ts'
import type { FlagValues } from './flags.ts'

/** What a command starts from: the merged configuration with flags laid over it, and the log they ask for. */
export interface Context {
  config: Config
  /** Agent keys with flags applied: flag over environment over files. */
  keys: AgentKeys
  log: AgentLog
  /** Where the log goes; undefined when nowhere. */
  logTarget: string | undefined
  /** Where something was set, as text for a message: a flag, a variable, or a file and its line. */
  placeOf(at: Path): string
}

/** The configuration files named by `--config` or `ADIT_CONFIG`, in order. */
export function configPaths(values: FlagValues, env: Env): string[] {
  const given = values.config ?? env.ADIT_CONFIG ?? []
  return [given]
    .flat()
    .flatMap((each) => each.split(','))
    .filter((path) => path !== '')
}

/** The one file a command writes to. */
export function configPath(values: FlagValues, env: Env): string {
  return configPaths(values, env).at(-1) ?? defaultConfigPath(env)
}

const FROM_FLAGS: Readonly<Record<string, keyof AgentKeys>> = {
  authtoken: 'authtoken',
  'connect-url': 'connect_url',
  'root-cas': 'connect_cas',
  'web-addr': 'web_addr',
  'update-url': 'update_url',
  'update-key': 'update_key',
  channel: 'update_channel',
  log: 'log',
  'log-format': 'log_format',
  'log-level': 'log_level',
}

/**
 * Loads everything a command needs; throws `ConfigError`. Where the output is data for programs, lines that were to go
 * there go to the error output.
 */
export function createContext(
  values: FlagValues,
  env: Env,
  options: { stdoutForData?: boolean } = {},
): Context {
  const paths = configPaths(values, env)
  const config = loadConfig(paths, env)
  const flags = keysFrom(values)
  const keys: AgentKeys = { ...config.agent, ...flags }
  const { log, logTarget } = openLog(keys, options.stdoutForData ?? false)
  if (keys.authtoken) log.hide(keys.authtoken)
  if (keys.api_key) log.hide(keys.api_key)
  logConfiguration(log, config, paths, env)
  const placeOf = (at: Path) =>
    at[0] === 'agent' && Object.hasOwn(flags, at[1] ?? '') ? `--${flagOf(at[1])}` : config.placeOf(at)
  return { config, keys, log, logTarget, placeOf }
}

function flagOf(key: string | number | undefined): string {
  return Object.entries(FROM_FLAGS).find(([, each]) => each === key)?.[0] ?? ''
}

function keysFrom(values: FlagValues): AgentKeys {
  const given: Record<string, unknown> = {}
  for (const [flag, key] of Object.entries(FROM_FLAGS))
    if (values[flag] !== undefined) given[key] = values[flag]
  if (typeof values['authtoken-file'] === 'string') given.authtoken = readToken(values['authtoken-file'])
  const problems: Problem[] = []
  const read = object(agentKeys).read(given, [], problems) ?? {}
  if (problems.length > 0) {
    throw new ConfigError(problems.map(({ path, message }) => `--${flagOf(path[0])}: ${message}`))
  }
  return read
}

/** A token out of a file, or off the standard input for `-`. */
export function readToken(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8').trim()
  } catch (error) {
    throw new ConfigError([
      `cannot read the authtoken from ${path === '-' ? 'standard input' : path}: ${reason(error)}`,
    ])
  }
}

function openLog(keys: AgentKeys, stdoutForData: boolean): { log: AgentLog; logTarget: string | undefined } {
  const asked = keys.log ?? (keys.console_ui === 'false' ? 'stdout' : 'false')
  const logTarget = asked === 'stdout' && stdoutForData ? 'stderr' : asked
  let opened: ReturnType<typeof openLogOutput>
  try {
    opened = openLogOutput(logTarget)
  } catch (error) {
    throw new ConfigError([`cannot write the log to ${logTarget}: ${reason(error)}`])
  }
  if (!opened) return { log: silentAgentLog, logTarget: undefined }
  const log = createAgentLog({
    output: opened.output,
    format: keys.log_format ?? 'term',
    level: keys.log_level ?? 'info',
    colours: opened.terminal,
    close: opened.close,
  })
  return { log, logTarget }
}

function logConfiguration(log: AgentLog, config: Config, paths: string[], env: Env): void {
  if (paths.length === 0) {
    log.info('no configuration paths supplied')
    log.info('using configuration at default config path', { path: defaultConfigPath(env) })
  }
  for (const path of paths.length > 0 ? paths : [defaultConfigPath(env)]) {
    log.info('open config file', { path, err: config.files.includes(path) ? null : 'no such file' })
  }
  for (const warning of config.warnings) log.warn(warning)
}
