import type { BindOpts } from '../../protocol/index.ts'
import { allEndpointOptions } from '../../resources/endpoint-options.ts'
import type { TunnelDefinition } from '../config/definitions.ts'
import { SpecError } from './spec-error.ts'

/** What the options of all kinds of binds have in common. */
export interface SharedBindOptions {
  proxyProto: 0 | 1 | 2
  /** The options that configure modules; a tunnel has only those of its kind. */
  moduleOptions: BindOpts
  trafficPolicy: string | undefined
  mutualTlsCas: string | undefined
}

/** Drops unset options: to the server an absent option and an empty one are the same. */
function dropUnset(options: { [K in keyof BindOpts]?: BindOpts[K] | undefined }): BindOpts {
  return Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined && value !== ''),
  ) as BindOpts
}

/** The `Opts` of an http or https Bind (docs/protocol.md). */
export function toHttpOptions(
  definition: TunnelDefinition,
  urlHost: string | undefined,
  shared: SharedBindOptions,
): BindOpts {
  return dropUnset({
    ...toNameOptions(definition, urlHost),
    ProxyProto: shared.proxyProto,
    ...shared.moduleOptions,
    MutualTLSCA:
      shared.mutualTlsCas === undefined ? undefined : { mutual_tls_ca: toBase64(shared.mutualTlsCas) },
    TrafficPolicy: shared.trafficPolicy,
  })
}

/** The `Opts` of a tcp Bind. */
export function toTcpOptions(address: string, shared: SharedBindOptions): BindOpts {
  if (address !== '' && !/^[^\s:/]+:\d{1,5}$/.test(address)) {
    throw new SpecError('remote_addr', `"${address.slice(0, 60)}" is not a public address; use host:port`)
  }
  return dropUnset({
    Addr: address,
    ProxyProto: shared.proxyProto,
    ...shared.moduleOptions,
    TrafficPolicy: shared.trafficPolicy,
  })
}

/** The `Opts` of a tls Bind. */
export function toTlsOptions(
  definition: TunnelDefinition,
  urlHost: string | undefined,
  shared: SharedBindOptions,
  edgeTermination: BindOpts['TLSTermination'] | undefined,
): BindOpts {
  const cas = shared.mutualTlsCas
  return dropUnset({
    ...toNameOptions(definition, urlHost),
    ProxyProto: shared.proxyProto,
    MutualTLSAtAgent: cas !== undefined && edgeTermination === undefined,
    MutualTLSAtEdge:
      cas !== undefined && edgeTermination !== undefined ? { mutual_tls_ca: toBase64(cas) } : undefined,
    TLSTermination: edgeTermination,
    ...shared.moduleOptions,
    TrafficPolicy: shared.trafficPolicy,
  })
}

function toNameOptions({ domain, hostname, subdomain }: TunnelDefinition, urlHost: string | undefined) {
  return { Domain: urlHost ?? domain, Hostname: hostname, Subdomain: subdomain }
}

/** The options that configure modules; throws `SpecError` for the first one that is wrong. */
export function toModuleOptions(definition: TunnelDefinition): BindOpts {
  const options: Record<string, unknown> = {}
  for (const { key, field, check, encode } of allEndpointOptions) {
    const config = definition[key as keyof TunnelDefinition]
    if (isUnset(config)) continue
    const problem = check?.(config)
    if (problem !== undefined) throw new SpecError(key, problem)
    options[field] = encode(config)
  }
  return options
}

/** False, zero and an empty list switch an option off. */
function isUnset(config: unknown): boolean {
  return !config || (Array.isArray(config) && config.length === 0)
}

const toBase64 = (text: string) => Buffer.from(text).toString('base64')
