import { VERSION } from '../base/version.ts'
import { Agent } from './agent.ts'
import type { TunnelDefinition } from './config/definitions.ts'
import { tunnelShape } from './config/definitions.ts'
import { loadConfig } from './config/load.ts'
import type { ConfigProblem } from './config/shape.ts'
import { type LocalApi, startLocalApi } from './local-api/local-api.ts'
import { createAgentLog, silentAgentLog } from './log/log.ts'
import { resolveSettings } from './settings.ts'
import { toTunnelSpec } from './spec/spec.ts'
import { SpecError } from './spec/spec-error.ts'

/**
 * How a program reaches a server. Omitted settings come from the configuration file, the environment, or a server on
 * this machine.
 */
export interface ConnectOptions {
  authtoken?: string
  /** `host:port` of the server; several, comma-separated, for several nodes. */
  connectUrl?: string
  /** PEM file of the server's authority, or `host`. */
  rootCas?: string
  /** Free text shown with the session. */
  metadata?: string
  /** Serves the local API and inspector: true for 127.0.0.1:4040 or the next free port, or an address. */
  inspector?: boolean | string
  /** Configuration files instead of the default one. */
  config?: readonly string[]
  /** Receives the lines of the agent's log (logfmt). */
  log?: (line: string) => void
  /** Timeout of the first session in milliseconds. */
  timeoutMs?: number
  /** Environment variables instead of those of the process. */
  env?: Readonly<Record<string, string | undefined>>
}

/** What to forward: the keys of a tunnel definition (docs/agent-config.md). */
export type ForwardOptions = Omit<TunnelDefinition, 'addr'> & { addr: string | number }

/** A tunnel started by a program. */
export interface ForwardedTunnel {
  readonly name: string
  /** The public URL; empty for labelled tunnels. */
  readonly url: string
  /** The upstream address. */
  readonly addr: string
  close(): Promise<void>
}

/** A session with a server, owned by a program. */
export interface AgentHandle {
  /** `online`, `reconnecting` or `closed`. */
  readonly status: string
  /** Address of the inspector, when it was requested. */
  readonly inspectorUrl: string | undefined
  readonly tunnels: readonly ForwardedTunnel[]
  /** Starts a tunnel to a port or address, or to the `addr` of an object. */
  forward(
    target: number | string | ForwardOptions,
    options?: Omit<ForwardOptions, 'addr'>,
  ): Promise<ForwardedTunnel>
  close(): Promise<void>
}

const FIRST_SESSION_TIMEOUT_MS = 15_000

/** Opens a session shared by any number of tunnels. Rejects when the server is unreachable or rejects the agent. */
export async function connect(options: ConnectOptions = {}): Promise<AgentHandle> {
  const env = options.env ?? process.env
  const config = loadConfig(options.config ?? [], env)
  const { inspector = false } = options
  const settings = resolveSettings(
    {
      ...config.agent,
      ...(options.authtoken === undefined ? {} : { authtoken: options.authtoken }),
      ...(options.connectUrl === undefined ? {} : { connect_url: options.connectUrl }),
      ...(options.rootCas === undefined ? {} : { connect_cas: options.rootCas }),
      ...(options.metadata === undefined ? {} : { metadata: options.metadata }),
      ...(typeof inspector === 'string' ? { web_addr: inspector } : {}),
      // Without the inspector nothing reads the captures.
      ...(inspector === false ? { web_addr: 'false', inspect_db_size: -1 } : {}),
    },
    env,
  )
  const log = options.log
    ? createAgentLog({ output: options.log, format: 'logfmt', level: 'debug' })
    : silentAgentLog
  const agent = new Agent({ settings, log, userAgent: `adit/${VERSION} adit-library/${VERSION}` })
  const ended = agent.run()
  let api: LocalApi | undefined
  try {
    // A permanent rejection ends the run; any other failure shows as a timeout of the first session.
    await Promise.race([agent.connection.session(options.timeoutMs ?? FIRST_SESSION_TIMEOUT_MS), ended])
    if (settings.web) api = await startLocalApi(agent, settings.web)
  } catch (error) {
    await agent.close()
    throw error
  }
  ended.catch(() => {})
  return createHandle(agent, api)
}

function withTarget(
  target: number | string | ForwardOptions,
  options: Omit<ForwardOptions, 'addr'>,
): ForwardOptions {
  return typeof target === 'object' ? { ...target, ...options } : { ...options, addr: target }
}

/** Opens a session for one tunnel; closing the tunnel closes the session. Use `connect` for several. */
export async function forward(
  target: number | string | (ForwardOptions & ConnectOptions),
  options: Omit<ForwardOptions, 'addr'> & ConnectOptions = {},
): Promise<ForwardedTunnel> {
  const { connectOptions, definition } = splitOptions(withTarget(target, options))
  const agent = await connect(connectOptions)
  try {
    const tunnel = await agent.forward(definition)
    return {
      name: tunnel.name,
      addr: tunnel.addr,
      get url() {
        return tunnel.url
      },
      close: () => agent.close(),
    }
  } catch (error) {
    await agent.close()
    throw error
  }
}

const CONNECT_KEYS = [
  'authtoken',
  'connectUrl',
  'rootCas',
  'inspector',
  'config',
  'log',
  'timeoutMs',
  'env',
] as const

function splitOptions(target: ForwardOptions) {
  const connectOptions: Record<string, unknown> = {}
  const definition: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(target)) {
    if ((CONNECT_KEYS as readonly string[]).includes(key)) connectOptions[key] = value
    else definition[key] = value
  }
  return { connectOptions: connectOptions as ConnectOptions, definition: definition as ForwardOptions }
}

function createHandle(agent: Agent, api: LocalApi | undefined): AgentHandle {
  let count = 0
  const toForwardedTunnel = (name: string): ForwardedTunnel => ({
    name,
    addr: agent.tunnels.get(name)?.spec.upstream.text ?? '',
    get url() {
      return agent.tunnels.get(name)?.publicUrl ?? ''
    },
    async close() {
      await agent.tunnels.stop(name)
    },
  })
  return {
    get status() {
      return agent.connection.status
    },
    inspectorUrl: api?.url,
    get tunnels() {
      return agent.tunnels.list().map(({ name }) => toForwardedTunnel(name))
    },
    async forward(target, more = {}) {
      const options = withTarget(target, more)
      const definition = options.labels || options.proto ? options : { ...options, proto: 'http' }
      const problems: ConfigProblem[] = []
      const parsed = tunnelShape.read(definition, [], problems)
      if (!parsed || problems.length > 0)
        throw new SpecError(
          String(problems[0]?.path[0] ?? ''),
          problems.map(({ message }) => message).join('; '),
        )
      const tunnel = await agent.tunnels.start(toTunnelSpec(options.name ?? `tunnel-${++count}`, parsed))
      return toForwardedTunnel(tunnel.name)
    },
    async close() {
      await agent.close()
      api?.close()
    },
  }
}
