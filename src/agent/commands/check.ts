import { Resolver } from 'node:dns'
import { accessSync, constants, existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname } from 'node:path'
import { CommandFailure } from '../../base/process/command-line.ts'
import { describeFileError } from '../../base/text/file-error.ts'
import {
  type BindRequest,
  type LabelRequest,
  MIN_HEARTBEAT_MS,
  ProtocolError,
  protocolError,
} from '../../protocol/index.ts'
import { ConfigError } from '../config/error.ts'
import type { AgentKeys } from '../config/keys.ts'
import type { Config } from '../config/load.ts'
import type { Path } from '../config/shape.ts'
import { checkCrlFile, resolveInterface } from '../connect/dial.ts'
import { parseServerAddresses, readAuthorities } from '../connect/location.ts'
import { parseProxy } from '../connect/proxy.ts'
import { checkCaptureFile } from '../inspector/capture-file.ts'
import { resolveCaptureBytes, resolveWebSettings } from '../settings.ts'
import { type AgentTunnelSpec, addPlainHttp, toEndpointSpec, toTunnelSpec } from '../spec/spec.ts'
import { SpecError } from '../spec/spec-error.ts'
import { requestsOf, tunnelNames } from '../tunnels/bind-request.ts'

/** The configuration to check, and how to describe where a value was set. */
export interface CheckInput {
  config: Pick<Config, 'tunnels' | 'endpoints' | 'definitionProblems'>
  keys: AgentKeys
  describeSource(path: Path): string
  /** Throws the `ProtocolError` with which every server rejects a request; absent where a server will be asked. */
  checkRequest?: ((request: BindRequest | LabelRequest) => void) | undefined
}

/** A definition that can be started, or the messages of its problems, each with source and key. */
export type Definition = { spec: AgentTunnelSpec } | { problems: readonly string[] }

/** Where a value is set and how messages call it; without a key the definition as a whole. */
type Locate = (key: string | undefined) => [path: Path, subject: string]

/**
 * Resolves every tunnel and endpoint definition by name; an unnamed endpoint has a title instead. A definition with an
 * invalid value prevents only its own start. An invalid agent key prevents every start: throws `ConfigError`.
 */
export function resolveDefinitions(input: CheckInput): Map<string, Definition> {
  const definitions = new Map<string, Definition>()
  resolveTunnels(input, definitions)
  resolveEndpoints(input, definitions)
  const messages = agentProblems(input)
  if (messages.length > 0) throw new ConfigError([...messages, ...problemsOf(definitions)])
  return definitions
}

function resolveTunnels(input: CheckInput, definitions: Map<string, Definition>): void {
  const { tunnels, definitionProblems } = input.config
  const unreadable = definitionProblems.filter(({ path }) => path[0] === 'tunnels')
  const names = new Set([...tunnels.keys(), ...unreadable.map(({ path }) => String(path[1]))])
  for (const name of names) {
    const title = `the tunnel "${name}"`
    const resolved = resolveDefinition(
      input,
      ['tunnels', name],
      () => {
        const spec = toTunnelSpec(name, tunnels.get(name) ?? {})
        requireFreeName(definitions, name)
        return spec
      },
      (key) =>
        key === undefined ? [['tunnels', name], title] : [['tunnels', name, key], `${key} of ${title}`],
    )
    definitions.set(name, resolved)
  }
}

function resolveEndpoints(input: CheckInput, definitions: Map<string, Definition>): void {
  for (const [index, definition] of input.config.endpoints.entries()) {
    const { name } = definition
    const title = name ? `the endpoint "${name}"` : `endpoint number ${index + 1}`
    const resolved = resolveDefinition(
      input,
      ['endpoints', index],
      () => {
        const spec = toEndpointSpec(definition)
        requireFreeName(definitions, spec.name)
        return spec
      },
      (key) => {
        if (key === undefined) return [['endpoints', index], title]
        const path = ENDPOINT_PATHS[key] ?? [key]
        return [['endpoints', index, ...path], `${path.join('.')} of ${title}`]
      },
    )
    definitions.set(name || title, resolved)
  }
}

/** Plain http beside https has a name of its own, which no other definition can have. */
function requireFreeName(definitions: ReadonlyMap<string, Definition>, name: string): void {
  if (definitions.has(name)) throw new SpecError('name', `"name" must be unique; "${name}" is defined twice`)
  for (const each of definitions.values()) {
    if ('spec' in each && tunnelNames(addPlainHttp(each.spec)).includes(name))
      throw new SpecError(
        'name',
        `"${name}" is already the name of "${each.spec.name}" over plain http; choose another name`,
      )
  }
}

function resolveDefinition(
  { config, describeSource, checkRequest }: CheckInput,
  [section, key]: Path,
  convert: () => AgentTunnelSpec,
  locate: Locate,
): Definition {
  const unreadable = config.definitionProblems.filter(({ path }) => path[0] === section && path[1] === key)
  if (unreadable.length > 0) return { problems: unreadable.map(({ message }) => message) }
  const specs: AgentTunnelSpec[] = []
  const problems = problemsIn(
    () => {
      const spec = convert()
      if (checkRequest) for (const request of requestsOf(spec)) checkRequest(request)
      specs.push(spec)
    },
    describeSource,
    locate,
  )
  const [spec] = specs
  return spec === undefined ? { problems } : { spec }
}

/** The problems of keys that concern the agent as a whole. */
function agentProblems({ keys, describeSource }: CheckInput): string[] {
  return Object.entries(AGENT_CHECKS).flatMap(([key, check]) => {
    const value = keys[key as keyof AgentKeys]
    if (value === undefined) return []
    return problemsIn(
      () => check(value as never, keys),
      describeSource,
      () => [['agent', key], key],
    )
  })
}

/** Runs a check; what it rejects becomes a message. */
function problemsIn(check: () => void, describeSource: (path: Path) => string, locate: Locate): string[] {
  try {
    check()
    return []
  } catch (error) {
    const isRejection =
      error instanceof ConfigError || error instanceof SpecError || error instanceof ProtocolError
    if (!isRejection) throw error
    const [path, subject] = locate(error instanceof SpecError ? error.key : undefined)
    const code = error instanceof ProtocolError && error.code !== undefined ? ` (${error.code})` : ''
    return [`${describeSource(path)}: ${subject}: ${error.message}${code}`]
  }
}

/** The specs by name; throws `ConfigError` with the problems of all definitions, if there are any. */
export function requireSpecs(definitions: ReadonlyMap<string, Definition>): Map<string, AgentTunnelSpec> {
  const specs = [...definitions].flatMap(([name, each]) =>
    'spec' in each ? [[name, each.spec] as const] : [],
  )
  const messages = [...problemsOf(definitions), ...sharedAddresses(specs.map(([, spec]) => spec))]
  if (messages.length > 0) throw new ConfigError(messages)
  return new Map(specs)
}

/** Messages about definitions that cannot be online together, because they serve one address and are not pooled. */
function sharedAddresses(specs: readonly AgentTunnelSpec[]): string[] {
  const owners = new Map<string, AgentTunnelSpec>()
  return specs.flatMap((spec) =>
    spec.binds.flatMap(({ proto, opts: { Domain, Hostname, Subdomain, Addr } }) => {
      const host = Domain || Hostname || Subdomain || Addr
      if (!host) return []
      const address = `${proto}://${host.toLowerCase().replace(/\.$/, '')}`
      // They share a listener.
      const listener = address.replace(/^tls:/, 'https:')
      const owner = owners.get(listener)
      if (owner === undefined) owners.set(listener, spec)
      return owner === undefined || (owner.poolingEnabled && spec.poolingEnabled)
        ? []
        : [
            `"${owner.name}" and "${spec.name}" both serve ${address}; change one URL, or set "pooling_enabled: true" on both`,
          ]
    }),
  )
}

function problemsOf(definitions: ReadonlyMap<string, Definition>): string[] {
  return [...definitions.values()].flatMap((each) => ('problems' in each ? each.problems : []))
}

/** The error of commands that start everything when nothing is defined. */
export function noDefinitionsFailure({ files }: Pick<Config, 'files'>, code = 1): CommandFailure {
  return new CommandFailure(
    `the configuration defines no tunnels or endpoints (files read: ${files.join(', ') || 'none'}).\nTo run only the session and the local API use: adit start --none`,
    code,
  )
}

/** Checks beyond the shape of a value. */
const AGENT_CHECKS: {
  [K in keyof AgentKeys]?: (value: NonNullable<AgentKeys[K]>, keys: AgentKeys) => void
} = {
  connect_url: parseServerAddresses,
  connect_cas: (value) => value === 'host' || value === 'trusted' || readAuthorities(value),
  proxy_url: parseProxy,
  dns_resolver_ips: (values) => values.forEach(checkNameServer),
  connect_interface: resolveInterface,
  log: checkLogTarget,
  crl_url: (value, { crl_noverify }) => crl_noverify || checkCrlFile(value),
  heartbeat_interval: (value) => requireHeartbeat('heartbeat_interval', value),
  heartbeat_tolerance: (value) => requireHeartbeat('heartbeat_tolerance', value),
  inspect_db_file: (value, keys) => resolveCaptureBytes(keys) > 0 && checkCaptureFile(value),
  web_addr: (web_addr) => resolveWebSettings({ web_addr }),
  web_allow_hosts: (values) => values.forEach(checkAllowedHost),
}

/** The file is not created: a check changes nothing. */
function checkLogTarget(target: string): void {
  if (['', 'false', 'stdout', 'stderr'].includes(target)) return
  try {
    accessSync(existsSync(target) ? target : dirname(target), constants.W_OK)
  } catch (error) {
    throw new ConfigError([`cannot write the log to ${target}: ${describeFileError(error)}`])
  }
}

/** Zero means the default. */
function requireHeartbeat(key: 'heartbeat_interval' | 'heartbeat_tolerance', valueMs: number): void {
  if (valueMs > 0 && valueMs < MIN_HEARTBEAT_MS) throw protocolError(key)
}

function checkNameServer(address: string): void {
  try {
    new Resolver().setServers([address])
  } catch {
    throw new ConfigError([
      `"${address}" is not the address of a name server; use 192.0.2.1 or [2001:db8::1]:53`,
    ])
  }
}

function checkAllowedHost(entry: string): void {
  const [address = '', bits] = entry.trim().split('/')
  if (bits === undefined) return
  const family = isIP(address)
  if (family === 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > (family === 4 ? 32 : 128)) {
    throw new ConfigError([`"${entry}" is not an address range; use CIDR notation such as 10.0.0.0/8`])
  }
}

/** Endpoints are resolved as tunnels; maps a tunnel key to its path in the endpoint. */
const ENDPOINT_PATHS: Readonly<Record<string, Path>> = {
  addr: ['upstream', 'url'],
  upstream: ['upstream', 'url'],
  proto: ['url'],
  app_protocol: ['upstream', 'protocol'],
  proxy_proto: ['upstream', 'proxy_protocol'],
  upstream_tls_verify_cas: ['upstream', 'tls_verify_cas'],
  crt: ['agent_tls_termination', 'server_certificate'],
  key: ['agent_tls_termination', 'server_private_key'],
  mutual_tls_cas: ['agent_tls_termination', 'mutual_tls_certificate_authorities'],
}
