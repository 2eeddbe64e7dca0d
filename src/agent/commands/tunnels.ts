import { tunnelShape } from '../config/definitions.ts'
import { ConfigError } from '../config/error.ts'
import type { Config } from '../config/load.ts'
import type { Env } from '../config/paths.ts'
import type { Problem } from '../config/shape.ts'
import { SpecError } from '../spec-error.ts'
import { endpointSpec, type TunnelSpec, tunnelSpec } from '../tunnel-spec.ts'
import { type Context, createContext } from './context.ts'
import { Failure } from './failure.ts'
import {
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

/** `adit http|tcp|tls ADDRESS`. */
export async function endpointCommand(
  kind: 'http' | 'tcp' | 'tls',
  address: string,
  values: FlagValues,
  env: NodeJS.ProcessEnv & Env,
): Promise<number> {
  const policy = await fetchPolicy(values['traffic-policy-url'])
  const definition = { ...definitionFrom(ENDPOINT[kind], values), ...policy, proto: kind, addr: address }
  return run(createContext(values, env), [specFrom(definition, values)], ENDPOINT[kind], values, env)
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
  return run(createContext(values, env), [specFrom(definition, values)], LABELLED, values, env)
}

/** `adit start NAME...`, `--all` or `--none`. */
export async function startCommand(
  names: string[],
  values: FlagValues,
  env: NodeJS.ProcessEnv & Env,
): Promise<number> {
  const context = createContext(values, env)
  const defined = definedSpecs(context.config)
  if (typeof values.metadata === 'string') context.keys.metadata = values.metadata
  const specs = chosen(defined, names, values, context.config)
  return run(context, specs, [], values, env)
}

/** `adit service run`, what the service manager calls. A configuration it cannot read has an exit code of its own. */
export async function serviceRunCommand(values: FlagValues, env: NodeJS.ProcessEnv & Env): Promise<number> {
  let context: Context
  let specs: TunnelSpec[]
  try {
    context = createContext({ log: 'stdout', 'log-format': 'logfmt', ...values }, env)
    specs = [...definedSpecs(context.config).values()].map((make) => make())
  } catch (error) {
    if (error instanceof ConfigError || error instanceof SpecError) throw new Failure(error.message, 5)
    throw error
  }
  return runAgent({ context, specs, output: undefined, warnings: [], serviceRun: true, env })
}

function run(
  context: Context,
  specs: TunnelSpec[],
  flags: readonly Flag[],
  values: FlagValues,
  env: NodeJS.ProcessEnv & Env,
): Promise<number> {
  const output = values.output
  if (output !== undefined && output !== 'json') throw new Failure(`--output must be json, not "${output}"`)
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
    throw new Failure(`cannot read the traffic policy at ${url}: ${(error as Error).message}`)
  }
}

/** Everything the files define, by name; a definition is worked out only when it is wanted. */
function definedSpecs({ tunnels, endpoints }: Config): Map<string, () => TunnelSpec> {
  const defined = new Map<string, () => TunnelSpec>()
  for (const [name, definition] of tunnels)
    defined.set(name, () => named(name, () => tunnelSpec(name, definition)))
  for (const endpoint of endpoints) {
    const { name } = endpoint
    if (!name) throw new ConfigError(['every endpoint of the configuration needs a "name"'])
    if (defined.has(name)) throw new ConfigError([`the configuration defines "${name}" twice`])
    defined.set(name, () => named(name, () => endpointSpec(endpoint)))
  }
  return defined
}

function named(name: string, work: () => TunnelSpec): TunnelSpec {
  try {
    return work()
  } catch (error) {
    throw error instanceof SpecError ? new SpecError(`"${name}": ${error.message}`) : error
  }
}

function chosen(
  defined: Map<string, () => TunnelSpec>,
  names: string[],
  values: FlagValues,
  config: Config,
): TunnelSpec[] {
  if (values.none === 'true') {
    if (names.length > 0 || values.all === 'true')
      throw new Failure('--none starts no tunnel; leave the names and --all out')
    return []
  }
  const files = config.files.length > 0 ? config.files.join(', ') : 'none'
  if (values.all === 'true') {
    if (defined.size === 0) {
      throw new Failure(
        `the configuration defines no tunnels or endpoints (files read: ${files}).\nTo run only the session and the local API use: adit start --none`,
      )
    }
    return [...defined.values()].map((make) => make())
  }
  if (names.length === 0)
    throw new Failure('say what to start: adit start NAME..., adit start --all or adit start --none')
  return names.map((name) => {
    const make = defined.get(name)
    if (make) return make()
    const known = defined.size > 0 ? [...defined.keys()].join(', ') : 'none'
    throw new Failure(`"${name}" is not defined.\nDefined are: ${known}\nFiles read: ${files}`)
  })
}
