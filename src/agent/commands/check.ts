import { Resolver } from 'node:dns'
import { isIP } from 'node:net'
import { CommandFailure } from '../../base/command-line.ts'
import { ConfigError } from '../config/error.ts'
import type { AgentKeys } from '../config/keys.ts'
import type { Config } from '../config/load.ts'
import type { Path } from '../config/shape.ts'
import { parseServerAddresses, readAuthorities } from '../connect/location.ts'
import { parseProxy } from '../connect/proxy.ts'
import { resolveWebSettings } from '../settings.ts'
import { type AgentTunnelSpec, toEndpointSpec, toTunnelSpec } from '../tunnels/spec.ts'
import { SpecError } from '../tunnels/spec-error.ts'

/** The configuration to check, and how to describe where a value was set. */
export interface CheckInput {
  config: Pick<Config, 'tunnels' | 'endpoints'>
  keys: AgentKeys
  describeSource(path: Path): string
}

/**
 * Resolves every tunnel and endpoint definition, whether or not it will be started, and checks the agent keys: one
 * invalid value prevents the start. Throws `ConfigError` with a message for each, which names its source and key.
 * Returns the specs by name.
 */
export function resolveSpecs({ config, keys, describeSource }: CheckInput): Map<string, AgentTunnelSpec> {
  const messages: string[] = []
  const attempt = (work: () => void, locate: (key: string) => [path: Path, subject: string]) => {
    try {
      work()
    } catch (error) {
      if (!(error instanceof ConfigError || error instanceof SpecError)) throw error
      const [path, subject] = locate(error instanceof SpecError ? error.key : '')
      messages.push(`${describeSource(path)}: ${subject}: ${error.message}`)
    }
  }

  for (const [key, check] of Object.entries(AGENT_CHECKS)) {
    const value = keys[key as keyof AgentKeys]
    if (value !== undefined)
      attempt(
        () => check(value as never),
        () => [['agent', key], key],
      )
  }
  const specs = new Map<string, AgentTunnelSpec>()
  for (const [name, definition] of config.tunnels) {
    attempt(
      () => specs.set(name, toTunnelSpec(name, definition)),
      (key) => [['tunnels', name, key], `${key} of the tunnel "${name}"`],
    )
  }
  for (const [index, definition] of config.endpoints.entries()) {
    const { name } = definition
    const title = name ? `the endpoint "${name}"` : `endpoint number ${index + 1}`
    const duplicate =
      name &&
      (config.tunnels.has(name) || config.endpoints.slice(0, index).some((each) => each.name === name))
    attempt(
      () => {
        const spec = toEndpointSpec(definition)
        if (duplicate) throw new SpecError('name', `"name" must be unique; "${name}" is defined twice`)
        specs.set(spec.name, spec)
      },
      (key) => {
        const path = ENDPOINT_PATHS[key] ?? [key]
        return [['endpoints', index, ...path], `${path.join('.')} of ${title}`]
      },
    )
  }
  if (messages.length > 0) throw new ConfigError(messages)
  return specs
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
  web_addr: (web_addr) => resolveWebSettings({ web_addr }),
  web_allow_hosts: (values) => values.forEach(checkAllowedHost),
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
