import { MAX_WEIGHT } from '../../base/values/weighted-round-robin.ts'
import { allEndpointOptions, durationMark, type OptionConfigs } from '../../resources/endpoint-options.ts'
import {
  choice,
  flag,
  isRecord,
  list,
  number,
  type ObjectFields,
  object,
  type Shape,
  seconds,
  shortText,
  text,
} from './shape.ts'

/** A policy document as text: the agent passes it to the server unparsed. */
const policy: Shape<string> = {
  read(value, path, problems) {
    if (typeof value === 'string') return value
    if (isRecord(value)) return JSON.stringify(value)
    problems.push({ path, message: `${path.join('.')} must be a map with the rules of the policy` })
    return undefined
  },
}

/** The keys of the endpoint options, from their declarations. */
const optionShapes = Object.fromEntries(
  allEndpointOptions.map(({ key, config }) => [key, shapeOf(config as ConfigSchema)]),
) as { [K in keyof OptionConfigs]: Shape<OptionConfigs[K]> }

interface ConfigSchema {
  readonly type: 'string' | 'boolean' | 'number' | 'array' | 'object'
  readonly minimum: number
  readonly maximum: number
  readonly items: ConfigSchema
  readonly properties: Readonly<Record<string, ConfigSchema>>
  readonly [durationMark]?: true
}

function shapeOf({
  type,
  minimum,
  maximum,
  items,
  properties,
  [durationMark]: isDuration,
}: ConfigSchema): Shape<unknown> {
  switch (type) {
    case 'string':
      return text
    case 'boolean':
      return flag
    case 'number':
      return isDuration ? seconds(maximum) : number(minimum, maximum, false)
    case 'array':
      return list(shapeOf(items))
    case 'object':
      return object(Object.fromEntries(Object.entries(properties).map(([key, each]) => [key, shapeOf(each)])))
  }
}

/** A tunnel in configuration files (`tunnels`) and `POST /api/tunnels`. */
export const tunnelShape = object(
  {
    name: text,
    proto: text,
    labels: list(text),
    addr: text,
    inspect: flag,
    metadata: shortText(4096),
    description: shortText(255),
    domain: text,
    hostname: text,
    subdomain: text,
    url: text,
    bindings: list(text),
    pooling_enabled: flag,
    pooling_weight: number(0, MAX_WEIGHT),
    schemes: list(choice('http', 'https')),
    ...optionShapes,
    host_header: text,
    mutual_tls_cas: text,
    crt: text,
    key: text,
    terminate_at: choice('edge', 'agent', 'upstream'),
    remote_addr: text,
    proxy_proto: choice('', '1', '2'),
    app_protocol: choice('', 'http1', 'http2'),
    upstream_tls_verify: flag,
    upstream_tls_verify_cas: text,
    traffic_policy: policy,
    traffic_policy_file: text,
    policy,
  },
  {
    bind_tls: 'it was renamed to "schemes" in version 2; run "adit config upgrade"',
    auth: 'it was renamed to "basic_auth" in version 2; run "adit config upgrade"',
    upstream: 'it is for endpoints; a tunnel has "addr"',
    port: 'use "addr" for the local service',
  },
)

/** A parsed tunnel definition; combinations of keys are not validated yet. */
export type TunnelDefinition = ObjectFields<(typeof tunnelShape)['fields']>

/** An endpoint in configuration files (`endpoints`, version 3) and `/api/endpoints`. */
export const endpointShape = object(
  {
    name: text,
    url: text,
    bindings: list(text),
    metadata: shortText(4096),
    description: shortText(255),
    traffic_policy: policy,
    traffic_policy_file: text,
    pooling_enabled: flag,
    pooling_weight: number(0, MAX_WEIGHT),
    inspect: flag,
    upstream: object({
      url: text,
      protocol: choice('', 'http1', 'http2'),
      proxy_protocol: choice('', '1', '2'),
      tls_verify: flag,
      tls_verify_cas: text,
    }),
    agent_tls_termination: object({
      server_certificate: text,
      server_private_key: text,
      mutual_tls_certificate_authorities: list(text),
    }),
  },
  {
    addr: 'an endpoint sets the local service with "upstream: url:"',
    proto: 'the protocol of an endpoint is part of its "url"',
  },
)

/** A parsed endpoint definition. */
export type EndpointDefinition = ObjectFields<(typeof endpointShape)['fields']>
