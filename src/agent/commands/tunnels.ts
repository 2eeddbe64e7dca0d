import { CommandFailure } from '../../base/process/command-line.ts'
import { describeNetworkError } from '../../base/text/network-error.ts'
import { findNearest } from '../../base/values/nearest.ts'
import { type CommandFlag, type FlagValues, isJsonOutput } from '../../command-line/index.ts'
import { tunnelShape } from '../config/definitions.ts'
import { ConfigError } from '../config/error.ts'
import type { Config } from '../config/load.ts'
import type { Env } from '../config/paths.ts'
import type { ConfigProblem } from '../config/shape.ts'
import { type AgentTunnelSpec, toTunnelSpec } from '../spec/spec.ts'
import { SpecError } from '../spec/spec-error.ts'
import { type Definition, noDefinitionsFailure, requireSpecs, resolveDefinitions } from './check.ts'
import { type CommandContext, type Configuration, createContext } from './context.ts'
import { deprecationWarnings, ENDPOINT_FLAGS, LABELLED_FLAGS, toDefinition } from './flags.ts'
import { consumeResumeState } from './reexec.ts'
import type { ReloadSource } from './reload.ts'
import { runAgent } from './run-agent.ts'
import { COMMON_FLAGS, SESSION_FLAGS } from './session-flags.ts'

const COMMAND_LINE = 'command_line'
/** Exit code that stops the service manager from restarting the agent (`RestartPreventExitStatus` in the unit). */
const EXIT_UNUSABLE_CONFIG = 5

/** `adit http|tcp|tls ADDRESS`. */
export async function endpointCommand(
  kind: 'http' | 'tcp' | 'tls',
  address: string,
  values: FlagValues,
  env: NodeJS.ProcessEnv & Env,
): Promise<number> {
  const policy = await fetchPolicy(values['traffic-policy-url'])
  const definition = { ...toDefinition(ENDPOINT_FLAGS[kind], values), ...policy, proto: kind, addr: address }
  const context = createContext(values, env)
  resolveDefinitions(context)
  const spec = parseSpec(definition, ENDPOINT_FLAGS[kind], values, `adit ${kind} 3000`)
  return runSpecs(context, [spec], ENDPOINT_FLAGS[kind], values, env)
}

/** `adit tunnel --label k=v ADDRESS`. */
export async function labelledCommand(
  address: string,
  values: FlagValues,
  env: NodeJS.ProcessEnv & Env,
): Promise<number> {
  if (values.label === undefined)
    throw new CommandFailure('a labelled tunnel needs labels: adit tunnel --label key=value ADDRESS')
  const definition = { ...toDefinition(LABELLED_FLAGS, values), addr: address }
  const context = createContext(values, env)
  resolveDefinitions(context)
  const spec = parseSpec(definition, LABELLED_FLAGS, values, 'adit tunnel --label key=value 3000')
  return runSpecs(context, [spec], LABELLED_FLAGS, values, env)
}

/** `adit start NAME...`, `--all` or `--none`. */
export async function startCommand(
  names: readonly string[],
  values: FlagValues,
  env: NodeJS.ProcessEnv & Env,
): Promise<number> {
  const context = createContext(values, env)
  const select = (configuration: Configuration) =>
    selectSpecs(resolveDefinitions(configuration), names, values, configuration.config)
  const specs = select(context)
  if (typeof values.metadata === 'string') context.keys.metadata = values.metadata
  return runSpecs(context, specs, [], values, env, { read: () => readAgain(context, select) })
}

function readAgain(
  context: CommandContext,
  select: (configuration: Configuration) => AgentTunnelSpec[],
): ReturnType<ReloadSource['read']> {
  const configuration = context.reread()
  return { configuration, specs: select(configuration) }
}

/** `adit service run`, called by the service manager. An unusable configuration has an exit code of its own. */
export async function serviceRunCommand(values: FlagValues, env: NodeJS.ProcessEnv & Env): Promise<number> {
  let context: CommandContext
  let available: Map<string, AgentTunnelSpec>
  try {
    context = createContext({ log: 'stdout', 'log-format': 'logfmt', ...values }, env)
    available = requireSpecs(resolveDefinitions(context))
  } catch (error) {
    throw error instanceof ConfigError ? new CommandFailure(error.message, EXIT_UNUSABLE_CONFIG) : error
  }
  if (available.size === 0) throw noDefinitionsFailure(context.config, EXIT_UNUSABLE_CONFIG)
  const specs = [...available.values()]
  const select = (configuration: Configuration) => {
    const defined = requireSpecs(resolveDefinitions(configuration))
    if (defined.size === 0) throw noDefinitionsFailure(configuration.config)
    return [...defined.values()]
  }
  const reload = { read: () => readAgain(context, select) }
  return runAgent({ context, specs, output: undefined, warnings: [], serviceRun: true, reload, env })
}

function runSpecs(
  context: CommandContext,
  specs: AgentTunnelSpec[],
  flags: readonly CommandFlag[],
  values: FlagValues,
  env: NodeJS.ProcessEnv & Env,
  reload?: ReloadSource,
): Promise<number> {
  const output = isJsonOutput(values) ? 'json' : undefined
  const warnings = deprecationWarnings([...flags, ...SESSION_FLAGS, ...COMMON_FLAGS], values)
  const qr = values.qr === 'true'
  const resumeState = consumeResumeState(env)
  return runAgent({ context, specs, output, warnings, qr, reload, resumeState, env })
}

function parseSpec(
  definition: Record<string, unknown>,
  flags: readonly CommandFlag[],
  values: FlagValues,
  example: string,
): AgentTunnelSpec {
  const problems: ConfigProblem[] = []
  const parsed = tunnelShape.read(definition, [], problems)
  if (!parsed || problems.length > 0)
    throw new CommandFailure(problems.map(({ message }) => nameFlags(message, flags, values)).join('\n'))
  try {
    return toTunnelSpec(typeof values.name === 'string' ? values.name : COMMAND_LINE, parsed)
  } catch (error) {
    if (!(error instanceof SpecError)) throw error
    const message = nameFlags(error.message, flags, values)
    throw new CommandFailure(error.key === 'addr' ? `${message}.\nFor example: ${example}` : message)
  }
}

/** Replaces the keys in a message about a definition by the flags that set them: `"basic_auth"`, `schemes[0]`. */
function nameFlags(message: string, flags: readonly CommandFlag[], values: FlagValues): string {
  const flagOf = (key: string) => {
    const candidates = flags.filter((flag) => flag.key === key || flag.key?.startsWith(`${key}.`))
    return candidates.find(({ name }) => values[name] !== undefined) ?? candidates[0]
  }
  return message
    .replace(/^([a-z_]+)(?:\[\d+\])? /, (text, key) => (flagOf(key) ? `--${flagOf(key)!.name} ` : text))
    .replace(/"([a-z_]+(?:\.[a-z_]+)?)"/g, (text, key) => (flagOf(key) ? `--${flagOf(key)!.name}` : text))
}

async function fetchPolicy(url: string | string[] | undefined): Promise<object> {
  if (typeof url !== 'string') return {}
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) })
    if (!response.ok) throw new Error(`it answered ${response.status}`)
    return { traffic_policy: await response.text() }
  } catch (error) {
    throw new CommandFailure(`cannot read the traffic policy at ${url}: ${describeNetworkError(error)}`)
  }
}

function selectSpecs(
  available: ReadonlyMap<string, Definition>,
  names: readonly string[],
  values: FlagValues,
  config: Config,
): AgentTunnelSpec[] {
  if (values.none === 'true') {
    if (names.length > 0 || values.all === 'true')
      throw new CommandFailure('--none starts no tunnel; omit the names and --all')
    return []
  }
  if (values.all === 'true') {
    if (names.length > 0) throw new CommandFailure('--all starts everything; omit either the names or --all')
    if (available.size === 0) throw noDefinitionsFailure(config)
    return [...requireSpecs(available).values()]
  }
  if (names.length === 0)
    throw new CommandFailure(
      'nothing to start; use adit start NAME..., adit start --all or adit start --none',
    )
  return names.map((name) => {
    const definition = available.get(name)
    if (definition && 'spec' in definition) return definition.spec
    if (definition) throw new ConfigError(definition.problems)
    const nearest = findNearest(name, available.keys())
    const suggestion = nearest === undefined ? '' : ` Did you mean: adit start ${nearest}`
    const definedNames = [...available.keys()].join(', ') || 'none'
    const files = config.files.join(', ') || 'none'
    throw new CommandFailure(
      `"${name}" is not defined.${suggestion}\nDefined: ${definedNames}\nFiles read: ${files}\nDefine it with: adit config edit`,
    )
  })
}
