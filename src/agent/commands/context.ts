import { readFileSync } from 'node:fs'
import { describeFileError } from '../../base/text/file-error.ts'
import type { FlagValues } from '../../command-line/index.ts'
import { ConfigError } from '../config/error.ts'
import { type AgentKeys, agentKeys } from '../config/keys.ts'
import { type Config, loadConfig } from '../config/load.ts'
import { defaultConfigPath, type Env } from '../config/paths.ts'
import { type ConfigProblem, object, type Path } from '../config/shape.ts'
import { type AgentLog, createAgentLog, openLogOutput, silentAgentLog } from '../log/log.ts'

/** The merged configuration with flags applied. */
export interface Configuration {
  config: Config
  /** Agent keys with flags applied: flags override environment variables, which override files. */
  keys: AgentKeys
  /** Describes where a value was set: a flag, a variable, or a file and its line. */
  describeSource(path: Path): string
}

/** What a command works with: the configuration, and the configured log. */
export interface CommandContext extends Configuration {
  log: AgentLog
  /** The log target; undefined when logging is off. */
  logTarget: string | undefined
  /** Reads the files again, with the same flags. */
  reread(): Configuration
}

/** The configuration files named by `--config` or `ADIT_CONFIG`, in order. */
export function configPaths(values: FlagValues, env: Env): string[] {
  const value = values.config ?? env.ADIT_CONFIG ?? []
  return [value]
    .flat()
    .flatMap((each) => each.split(','))
    .filter((path) => path !== '')
}

/** The file a command writes to. */
export function configPath(values: FlagValues, env: Env): string {
  return configPaths(values, env).at(-1) ?? defaultConfigPath(env)
}

const FLAG_KEYS: Readonly<Record<string, keyof AgentKeys>> = {
  authtoken: 'authtoken',
  'connect-url': 'connect_url',
  'root-cas': 'connect_cas',
  'web-addr': 'web_addr',
  'inspect-db-file': 'inspect_db_file',
  'update-url': 'update_url',
  'update-key': 'update_key',
  channel: 'update_channel',
  log: 'log',
  'log-format': 'log_format',
  'log-level': 'log_level',
}

/**
 * Loads everything a command needs; throws `ConfigError`. When stdout is reserved for data, a log configured for
 * stdout goes to stderr.
 */
export function createContext(
  values: FlagValues,
  env: Env,
  options: { stdoutForData?: boolean } = {},
): CommandContext {
  const paths = configPaths(values, env)
  const flags = parseFlagKeys(values)
  const read = () => readConfiguration(paths, flags, env)
  const configuration = read()
  const { config, keys } = configuration
  const { log, logTarget } = openLog(keys, options.stdoutForData ?? false)
  if (keys.authtoken) log.hide(keys.authtoken)
  if (keys.api_key) log.hide(keys.api_key)
  logConfiguration(log, config, paths, env)
  return { ...configuration, log, logTarget, reread: read }
}

function readConfiguration(paths: readonly string[], flags: AgentKeys, env: Env): Configuration {
  const config = loadConfig(paths, env)
  const describeSource = (path: Path) =>
    path[0] === 'agent' && Object.hasOwn(flags, path[1] ?? '')
      ? `--${flagName(path[1])}`
      : config.describeSource(path)
  return { config, keys: { ...config.agent, ...flags }, describeSource }
}

function flagName(key: string | number | undefined): string {
  return Object.entries(FLAG_KEYS).find(([, each]) => each === key)?.[0] ?? ''
}

function parseFlagKeys(values: FlagValues): AgentKeys {
  const input: Record<string, unknown> = {}
  for (const [flag, key] of Object.entries(FLAG_KEYS))
    if (values[flag] !== undefined) input[key] = values[flag]
  if (typeof values['authtoken-file'] === 'string') input.authtoken = readToken(values['authtoken-file'])
  const problems: ConfigProblem[] = []
  const parsed = object(agentKeys).read(input, [], problems) ?? {}
  if (problems.length > 0) {
    throw new ConfigError(problems.map(({ path, message }) => `--${flagName(path[0])}: ${message}`))
  }
  return parsed
}

/** Reads a token from a file, or from stdin for `-`. */
export function readToken(path: string): string {
  try {
    return readFileSync(path === '-' ? 0 : path, 'utf8').trim()
  } catch (error) {
    throw new ConfigError([
      `cannot read the authtoken from ${path === '-' ? 'standard input' : path}: ${describeFileError(error)}`,
    ])
  }
}

function openLog(keys: AgentKeys, stdoutForData: boolean): { log: AgentLog; logTarget: string | undefined } {
  const requested = keys.log ?? (keys.console_ui === 'false' ? 'stdout' : 'false')
  const logTarget = requested === 'stdout' && stdoutForData ? 'stderr' : requested
  let sink: ReturnType<typeof openLogOutput>
  try {
    sink = openLogOutput(logTarget)
  } catch (error) {
    throw new ConfigError([`cannot write the log to ${logTarget}: ${describeFileError(error)}`])
  }
  if (!sink) return { log: silentAgentLog, logTarget: undefined }
  const log = createAgentLog({
    output: sink.output,
    format: keys.log_format ?? 'term',
    level: keys.log_level ?? 'info',
    colours: sink.terminal,
    close: sink.close,
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
