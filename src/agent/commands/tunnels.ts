import { tunnelShape } from '../config/definitions.ts'
import { ConfigError } from '../config/error.ts'
import type { Config } from '../config/load.ts'
import type { Env } from '../config/paths.ts'
import type { Problem } from '../config/shape.ts'
import { describeNetworkError } from '../connect/network-reason.ts'
import { type TunnelSpec, tunnelSpec } from '../tunnels/spec.ts'
import { checkEverything, definesNothing } from './check.ts'
import { type Context, createContext } from './context.ts'
import { Failure } from './failure.ts'
import {
  asksForJson,
  COMMON,
  definitionFrom,
  ENDPOINT,
  type Flag,
  type FlagValues,
  LABELLED,
  SESSION,
  warningsOf,
} from './flags.ts'
import { takeState } from './reexec.ts'
import { runAgent } from './run-agent.ts'

const COMMAND_LINE = 'command_line'
/** Told to the service manager so that it does not try again: the unit names it. */
const UNUSABLE = 5

/** `adit http|tcp|tls ADDRESS`. */
export async function endpointCommand(
  kind: 'http' | 'tcp' | 'tls',
  address: string,
  values: FlagValues,
  env: NodeJS.ProcessEnv & Env,
): Promise<number> {
  const policy = await fetchPolicy(values['traffic-policy-url'])
  const definition = { ...definitionFrom(ENDPOINT[kind], values), ...policy, proto: kind, addr: address }
  const context = createContext(values, env)
  checkEverything(context)
  return run(context, [specFrom(definition, values)], ENDPOINT[kind], values, env)
}

/** `adit tunnel --label k=v ADDRESS`. */
export async function labelledCommand(
  address: string,
  values: FlagValues,
  env: NodeJS.ProcessEnv & Env,
): Promise<number> {
  if (values.label === undefined)
    throw new Failure('a labelled tunnel needs labels: adit tunnel --label key=value ADDRESS')
  const definition = { ...definitionFrom(LABELLED, values), addr: address }
  const context = createContext(values, env)
  checkEverything(context)
  return run(context, [specFrom(definition, values)], LABELLED, values, env)
}

/** `adit start NAME...`, `--all` or `--none`. */
export async function startCommand(
  names: string[],
  values: FlagValues,
  env: NodeJS.ProcessEnv & Env,
): Promise<number> {
  const context = createContext(values, env)
  const defined = checkEverything(context)
  if (typeof values.metadata === 'string') context.keys.metadata = values.metadata
  const specs = chosen(defined, names, values, context.config)
  return run(context, specs, [], values, env)
}

/** `adit service run`, what the service manager calls. A configuration it cannot use has an exit code of its own. */
export async function serviceRunCommand(values: FlagValues, env: NodeJS.ProcessEnv & Env): Promise<number> {
  let context: Context
  let defined: Map<string, TunnelSpec>
  try {
    context = createContext({ log: 'stdout', 'log-format': 'logfmt', ...values }, env)
    defined = checkEverything(context)
  } catch (error) {
    throw error instanceof ConfigError ? new Failure(error.message, UNUSABLE) : error
  }
  if (defined.size === 0) throw definesNothing(context.config, UNUSABLE)
  const specs = [...defined.values()]
  return runAgent({ context, specs, output: undefined, warnings: [], serviceRun: true, env })
}

function run(
  context: Context,
  specs: TunnelSpec[],
  flags: readonly Flag[],
  values: FlagValues,
  env: NodeJS.ProcessEnv & Env,
): Promise<number> {
  const output = asksForJson(values) ? 'json' : undefined
  const warnings = warningsOf([...flags, ...SESSION, ...COMMON], values)
  return runAgent({ context, specs, output, warnings, resumed: takeState(env), env })
}

function specFrom(definition: Record<string, unknown>, values: FlagValues): TunnelSpec {
  const problems: Problem[] = []
  const read = tunnelShape.read(definition, [], problems)
  if (!read || problems.length > 0) throw new Failure(problems.map(({ message }) => message).join('\n'))
  return tunnelSpec(typeof values.name === 'string' ? values.name : COMMAND_LINE, read)
}

async function fetchPolicy(url: string | string[] | undefined): Promise<object> {
  if (typeof url !== 'string') return {}
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(10_000) })
    if (!response.ok) throw new Error(`it answered ${response.status}`)
    return { traffic_policy: await response.text() }
  } catch (error) {
    throw new Failure(`cannot read the traffic policy at ${url}: ${describeNetworkError(error)}`)
  }
}

function chosen(
  defined: ReadonlyMap<string, TunnelSpec>,
  names: string[],
  values: FlagValues,
  config: Config,
): TunnelSpec[] {
  if (values.none === 'true') {
    if (names.length > 0 || values.all === 'true')
      throw new Failure('--none starts no tunnel; leave the names and --all out')
    return []
  }
  if (values.all === 'true') {
    if (names.length > 0)
      throw new Failure('--all starts everything that is defined; leave either the names or --all out')
    if (defined.size === 0) throw definesNothing(config)
    return [...defined.values()]
  }
  if (names.length === 0)
    throw new Failure('say what to start: adit start NAME..., adit start --all or adit start --none')
  return names.map((name) => {
    const spec = defined.get(name)
    if (spec) return spec
    const known = [...defined.keys()].join(', ') || 'none'
    const files = config.files.join(', ') || 'none'
    throw new Failure(`"${name}" is not defined.\nDefined are: ${known}\nFiles read: ${files}`)
  })
}
