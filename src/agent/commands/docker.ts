import { CommandFailure } from '../../base/process/command-line.ts'
import { describeNetworkError } from '../../base/text/network-error.ts'
import { findNearest } from '../../base/values/nearest.ts'
import { type FlagValues, isJsonOutput } from '../../command-line/index.ts'
import { tunnelShape } from '../config/definitions.ts'
import type { Env } from '../config/paths.ts'
import type { ConfigProblem } from '../config/shape.ts'
import { type Container, ContainerEngine } from '../docker/engine.ts'
import { ContainerFollower } from '../docker/follower.ts'
import { type AgentTunnelSpec, toTunnelSpec } from '../spec/spec.ts'
import { createContext } from './context.ts'
import { ENDPOINT_FLAGS, toDefinition } from './flags.ts'
import { runAgent } from './run-agent.ts'

const PREFIX = 'adit.'
const KINDS = ['http', 'tcp', 'tls'] as const
/** The traffic policy itself: a container has no file that the agent could read. */
const POLICY_LABEL = 'policy'

/** `adit docker`: endpoints for containers with labels such as `adit.http=3000`, as long as they run. */
export async function dockerCommand(values: FlagValues, env: NodeJS.ProcessEnv & Env): Promise<number> {
  const flag = values['docker-host']
  const engine = new ContainerEngine((typeof flag === 'string' ? flag : env.DOCKER_HOST) || undefined)
  await engine.list(AbortSignal.timeout(10_000)).catch((error) => {
    throw new CommandFailure(
      `the container engine at ${engine.host} cannot be reached: ${describeNetworkError(error)}.\nIs it running, and may this user open its socket? Choose another engine with --docker-host or DOCKER_HOST.`,
    )
  })
  return runAgent({
    context: createContext(values, env),
    specs: [],
    output: isJsonOutput(values) ? 'json' : undefined,
    warnings: [],
    env,
    attach(agent, withLocalSchemes) {
      const follower = new ContainerFollower({
        engine,
        tunnels: agent.tunnels,
        specsOf: (container) => withLocalSchemes(specsOfLabels(container)),
        notice: (text) => agent.notice(text),
        log: agent.log,
      })
      void follower.run()
      return () => follower.close()
    },
  })
}

/**
 * The tunnels that labels ask for: `adit.http`, `adit.tcp` and `adit.tls` hold the port, or `host:port` for another host
 * than the container; all others are flags of the command of that name, such as `adit.url`. Throws for unusable labels.
 */
export function specsOfLabels({ name, labels, address }: Container): AgentTunnelSpec[] {
  const own = Object.entries(labels)
    .filter(([label]) => label.startsWith(PREFIX))
    .map(([label, value]) => [label.slice(PREFIX.length), value] as const)
  const options = own.filter(([label]) => !KINDS.some((kind) => kind === label))
  const requested = KINDS.flatMap((kind) => {
    const target = own.find(([label]) => label === kind)?.[1]
    return target === undefined ? [] : [{ kind, target }]
  })
  const [first] = options
  if (requested.length === 0 && first !== undefined) throw new Error(describeMissingKind(first[0]))
  return requested.map(({ kind, target }) => {
    const definition = {
      ...toDefinition(ENDPOINT_FLAGS[kind], flagValues(kind, options)),
      ...policyOf(options),
      proto: kind,
      addr: /^[0-9]+$/.test(target) ? `${hostOf(address)}:${target}` : target,
    }
    const problems: ConfigProblem[] = []
    const parsed = tunnelShape.read(definition, [], problems)
    if (!parsed || problems.length > 0) throw new Error(problems.map(({ message }) => message).join(' '))
    return toTunnelSpec(requested.length === 1 ? name : `${name}-${kind}`, parsed)
  })
}

/** What is wrong with labels of which none says what to forward. */
function describeMissingKind(label: string): string {
  const flags = KINDS.flatMap((kind) => ENDPOINT_FLAGS[kind].map(({ name }) => name))
  const known = [...flags, POLICY_LABEL]
  const nearest = known.includes(label) ? undefined : findNearest(label, [...KINDS, ...known])
  if (nearest !== undefined) return `there is no label ${PREFIX}${label}; did you mean ${PREFIX}${nearest}?`
  return `${PREFIX}${label} also needs one of ${KINDS.map((kind) => PREFIX + kind).join(', ')}`
}

/** A container in the network of the host has no address of its own. */
function hostOf(address = '127.0.0.1'): string {
  return address.includes(':') ? `[${address}]` : address
}

function policyOf(options: readonly (readonly [string, string])[]): object {
  const policy = options.find(([label]) => label === POLICY_LABEL)
  return policy === undefined ? {} : { traffic_policy: policy[1] }
}

/** The values of flags from labels; a list has one value on each line. */
function flagValues(
  kind: (typeof KINDS)[number],
  options: readonly (readonly [string, string])[],
): FlagValues {
  const flags = ENDPOINT_FLAGS[kind].filter(({ key }) => key !== undefined)
  const values: Record<string, string | string[]> = {}
  for (const [label, value] of options) {
    if (label === POLICY_LABEL) continue
    const flag = flags.find(({ name }) => name === label)
    if (flag === undefined) {
      const nearest = findNearest(label, [...flags.map(({ name }) => name), ...KINDS, POLICY_LABEL])
      const hint = nearest === undefined ? `see adit ${kind} --help` : `did you mean ${PREFIX}${nearest}?`
      throw new Error(`there is no label ${PREFIX}${label}; ${hint}`)
    }
    values[label] =
      flag.kind === 'list'
        ? value.split(flag.commaSeparated ? /[,\n]/ : '\n').filter((item) => item !== '')
        : value
  }
  return values
}
