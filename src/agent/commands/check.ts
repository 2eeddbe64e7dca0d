import { Resolver } from 'node:dns'
import { accessSync, constants, existsSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname } from 'node:path'
import { CommandFailure } from '../../base/command-line.ts'
import { describeFileError } from '../../base/file-error.ts'
import { ConfigError } from '../config/error.ts'
import type { AgentKeys } from '../config/keys.ts'
import type { Config } from '../config/load.ts'
import type { Path } from '../config/shape.ts'
import { resolveInterface } from '../connect/dial.ts'
import { parseServerAddresses, readAuthorities } from '../connect/location.ts'
import { parseProxy } from '../connect/proxy.ts'
import { resolveWebSettings } from '../settings.ts'
import { type AgentTunnelSpec, toEndpointSpec, toTunnelSpec } from '../tunnels/spec.ts'
import { SpecError } from '../tunnels/spec-error.ts'

/** The configuration to check, and how to describe where a value was set. */
export interface CheckInput {
  config: Pick<Config, 'tunnels' | 'endpoints' | 'definitionProblems'>
  keys: AgentKeys
  describeSource(path: Path): string
}

/** A definition that can be started, or the messages of its problems, each with source and key. */
export type Definition = { spec: AgentTunnelSpec } | { problems: readonly string[] }

/**
 * Resolves every tunnel and endpoint definition by name; an unnamed endpoint has a title instead. A definition with an
 * invalid value prevents only its own start. An invalid agent key prevents every start: throws `ConfigError`.
 */
export function resolveDefinitions({ config, keys, describeSource }: CheckInput): Map<string, Definition> {
  const attempt = (work: () => void, locate: (key: string) => [path: Path, subject: string]): string[] => {
    try {
      work()
      return []
    } catch (error) {
      if (!(error instanceof ConfigError || error instanceof SpecError)) throw error
      const [path, subject] = locate(error instanceof SpecError ? error.key : '')
      return [`${describeSource(path)}: ${subject}: ${error.message}`]
    }
  }
  const resolve = (
    [section, key]: Path,
    convert: () => AgentTunnelSpec,
    locate: (key: string) => [path: Path, subject: string],
  ): Definition => {
    const problems = config.definitionProblems
      .filter(({ path }) => path[0] === section && path[1] === key)
      .map(({ message }) => message)
    if (problems.length > 0) return { problems }
    let spec: AgentTunnelSpec | undefined
    const rejections = attempt(() => {
      spec = convert()
    }, locate)
    return spec === undefined ? { problems: rejections } : { spec }
  }

  const messages: string[] = []
  for (const [key, check] of Object.entries(AGENT_CHECKS)) {
    const value = keys[key as keyof AgentKeys]
    if (value !== undefined)
      messages.push(
        ...attempt(
          () => check(value as never),
          () => [['agent', key], key],
        ),
      )
  }

  const definitions = new Map<string, Definition>()
  const unreadable = config.definitionProblems.filter(({ path }) => path[0] === 'tunnels')
  for (const name of new Set([...config.tunnels.keys(), ...unreadable.map(({ path }) => String(path[1]))])) {
    const definition = resolve(
      ['tunnels', name],
      () => toTunnelSpec(name, config.tunnels.get(name) ?? {}),
      (key) => [['tunnels', name, key], `${key} of the tunnel "${name}"`],
    )
    definitions.set(name, definition)
  }
  for (const [index, definition] of config.endpoints.entries()) {
    const { name } = definition
    const title = name ? `the endpoint "${name}"` : `endpoint number ${index + 1}`
    const resolved = resolve(
      ['endpoints', index],
      () => {
        const spec = toEndpointSpec(definition)
        if (definitions.has(spec.name))
          throw new SpecError('name', `"name" must be unique; "${name}" is defined twice`)
        return spec
      },
      (key) => {
        const path = ENDPOINT_PATHS[key] ?? [key]
        return [['endpoints', index, ...path], `${path.join('.')} of ${title}`]
      },
    )
    definitions.set(name || title, resolved)
  }
  if (messages.length > 0) throw new ConfigError([...messages, ...problemsOf(definitions)])
  return definitions
}

/** The specs by name; throws `ConfigError` with the problems of all definitions, if there are any. */
export function requireSpecs(definitions: ReadonlyMap<string, Definition>): Map<string, AgentTunnelSpec> {
  const messages = problemsOf(definitions)
  if (messages.length > 0) throw new ConfigError(messages)
  return new Map([...definitions].flatMap(([name, each]) => ('spec' in each ? [[name, each.spec]] : [])))
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
const AGENT_CHECKS: { [K in keyof AgentKeys]?: (value: NonNullable<AgentKeys[K]>) => void } = {
  connect_url: parseServerAddresses,
  connect_cas: (value) => value === 'host' || value === 'trusted' || readAuthorities(value),
  proxy_url: parseProxy,
  dns_resolver_ips: (values) => values.forEach(checkNameServer),
  connect_interface: resolveInterface,
  log: checkLogTarget,
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
    throw new ConfigError([`"${entry}" is not a range of addresses; use a CIDR such as 10.0.0.0/8`])
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
