import type { CommandFlag, FlagValues } from '../../command-line/index.ts'
import { allEndpointOptions, type EndpointOption, endpointOptions } from '../../resources/endpoint-options.ts'
import type { TunnelDefinition } from '../config/definitions.ts'
import { QR_FLAG } from './session-flags.ts'

/** The flags of endpoint options, from their declarations. */
function flagsOf(...options: readonly EndpointOption[]): CommandFlag[] {
  return options.flatMap(({ key, flags }) =>
    flags.map(({ field, ...flag }) => ({ ...flag, key: field === undefined ? key : `${key}.${field}` })),
  )
}

const { ip_restriction: IP_RESTRICTION, basic_auth: BASIC_AUTH } = endpointOptions
const HTTP_OPTIONS = allEndpointOptions.filter((option) => option !== IP_RESTRICTION && option !== BASIC_AUTH)

const TUNNEL_NAME_FLAG: CommandFlag = {
  name: 'name',
  kind: 'text',
  help: 'name of the tunnel in the local API (default "command_line")',
}

const MUTUAL_TLS_FLAG: CommandFlag = {
  name: 'mutual-tls-cas',
  kind: 'text',
  key: 'mutual_tls_cas',
  help: 'require a visitor certificate from an authority in this PEM file',
}

const INSPECT_FLAG: CommandFlag = {
  name: 'inspect',
  kind: 'bool',
  key: 'inspect',
  help: 'keep requests for inspection and replay (default true)',
}

const HOST_HEADER_FLAG: CommandFlag = {
  name: 'host-header',
  kind: 'text',
  key: 'host_header',
  help: 'Host the upstream sees: rewrite, preserve or a value',
}

const UPSTREAM_PROTOCOL_FLAG: CommandFlag = {
  name: 'upstream-protocol',
  kind: 'text',
  key: 'app_protocol',
  help: 'http1 or http2 (cleartext) to the upstream',
}

const CERTIFICATE_FLAGS: readonly CommandFlag[] = [
  { name: 'crt', kind: 'text', key: 'crt', help: 'PEM certificate to terminate TLS in the agent' },
  { name: 'key', kind: 'text', key: 'key', help: 'PEM key of that certificate' },
]

const SHARED_ENDPOINT_FLAGS: readonly CommandFlag[] = [
  {
    name: 'url',
    kind: 'text',
    key: 'url',
    help: 'public URL to request, for example https://app.example.com',
  },
  TUNNEL_NAME_FLAG,
  {
    name: 'description',
    kind: 'text',
    key: 'description',
    help: 'human-readable description of the endpoint',
  },
  { name: 'metadata', kind: 'text', key: 'metadata', help: 'free text stored with the endpoint' },
  {
    name: 'binding',
    commaSeparated: true,
    kind: 'list',
    key: 'bindings',
    help: 'where the endpoint is reachable: public, internal or kubernetes',
  },
  {
    name: 'pooling-enabled',
    kind: 'bool',
    key: 'pooling_enabled',
    help: 'share the URL with other endpoints that pool',
  },
  {
    name: 'pooling-weight',
    kind: 'text',
    key: 'pooling_weight',
    help: 'share of the traffic in the pool, relative to the others: 0 to 10000 (default 1)',
  },
  {
    name: 'traffic-policy-file',
    kind: 'text',
    key: 'traffic_policy_file',
    help: 'file with a traffic policy',
  },
  { name: 'traffic-policy-url', kind: 'text', help: 'URL of a traffic policy' },
  {
    name: 'upstream-proxy-protocol',
    kind: 'text',
    key: 'proxy_proto',
    help: "pass the visitor's address with PROXY protocol: 1 or 2",
  },
  {
    name: 'proxy-proto',
    kind: 'text',
    key: 'proxy_proto',
    help: '',
    replacement: '--upstream-proxy-protocol',
  },
  ...flagsOf(IP_RESTRICTION),
  {
    name: 'policy-file',
    kind: 'text',
    key: 'traffic_policy_file',
    help: '',
    replacement: '--traffic-policy-file',
  },
]

const UPSTREAM_TLS_FLAGS: readonly CommandFlag[] = [
  {
    name: 'upstream-tls-verify',
    kind: 'bool',
    key: 'upstream_tls_verify',
    help: 'verify the certificate of a TLS upstream',
  },
  {
    name: 'upstream-tls-verify-cas',
    kind: 'text',
    key: 'upstream_tls_verify_cas',
    help: 'PEM file of authorities to verify it against',
  },
]

const NAME_FLAGS: readonly CommandFlag[] = [
  { name: 'domain', kind: 'text', key: 'domain', help: '', replacement: '--url' },
  { name: 'hostname', kind: 'text', key: 'hostname', help: '', replacement: '--url' },
  { name: 'subdomain', kind: 'text', key: 'subdomain', help: '', replacement: '--url' },
  MUTUAL_TLS_FLAG,
]

/** Flags that describe an endpoint, by the command that creates it. */
export const ENDPOINT_FLAGS: Readonly<Record<'http' | 'tcp' | 'tls', readonly CommandFlag[]>> = {
  http: [
    ...SHARED_ENDPOINT_FLAGS,
    ...UPSTREAM_TLS_FLAGS,
    ...NAME_FLAGS,
    INSPECT_FLAG,
    {
      name: 'scheme',
      commaSeparated: true,
      kind: 'list',
      key: 'schemes',
      help: 'schemes to serve: http, https (default https; on a local domain both)',
    },
    ...flagsOf(BASIC_AUTH),
    HOST_HEADER_FLAG,
    ...flagsOf(...HTTP_OPTIONS),
    UPSTREAM_PROTOCOL_FLAG,
    { name: 'app-protocol', kind: 'text', key: 'app_protocol', help: '', replacement: '--upstream-protocol' },
    QR_FLAG,
  ],
  tcp: [
    ...SHARED_ENDPOINT_FLAGS,
    { name: 'remote-addr', kind: 'text', key: 'remote_addr', help: '', replacement: '--url tcp://host:port' },
  ],
  tls: [
    ...SHARED_ENDPOINT_FLAGS,
    ...UPSTREAM_TLS_FLAGS,
    ...NAME_FLAGS,
    ...CERTIFICATE_FLAGS,
    {
      name: 'terminate-at',
      kind: 'text',
      key: 'terminate_at',
      help: 'where TLS is terminated: edge, agent or upstream',
    },
  ],
}

/** Flags of a labelled tunnel. */
export const LABELLED_FLAGS: readonly CommandFlag[] = [
  {
    name: 'label',
    kind: 'list',
    key: 'labels',
    help: 'label as key=value that edge backends select by; may be repeated',
  },
  TUNNEL_NAME_FLAG,
  { name: 'metadata', kind: 'text', key: 'metadata', help: 'free text stored with the tunnel' },
  INSPECT_FLAG,
  ...CERTIFICATE_FLAGS,
  MUTUAL_TLS_FLAG,
  HOST_HEADER_FLAG,
  UPSTREAM_PROTOCOL_FLAG,
]

/** The tunnel definition that flags describe; validated like one from a file. */
export function toDefinition(flags: readonly CommandFlag[], values: FlagValues): Record<string, unknown> {
  const definition: Record<string, unknown> = {}
  for (const { name, key } of flags) {
    const value = values[name]
    if (key === undefined || value === undefined) continue
    const [outer, inner] = key.split('.') as [keyof TunnelDefinition & string, string | undefined]
    if (inner === undefined) definition[outer] = value
    else definition[outer] = { ...(definition[outer] as object | undefined), [inner]: value }
  }
  return definition
}

/** A warning for each deprecated flag in use. */
export function deprecationWarnings(flags: readonly CommandFlag[], values: FlagValues): string[] {
  return flags
    .filter(({ name, replacement }) => replacement !== undefined && values[name] !== undefined)
    .map(({ name, replacement }) => `the flag --${name} is deprecated; use ${replacement}`)
}
