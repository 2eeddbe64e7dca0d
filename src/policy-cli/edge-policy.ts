import { parse } from 'yaml'
import type { routeModules } from '../resources/index.ts'

/** The settings of a module as the API shows them. */
type Settings = { readonly enabled: boolean } & Readonly<Record<string, unknown>>

type Modules = Readonly<Record<string, unknown>>

interface Route extends Modules {
  readonly match_type: string
  readonly match: string
}

/** An edge as the API shows it; only HTTPS edges have routes. */
export interface ShownEdge extends Modules {
  readonly id: string
  readonly routes?: readonly Route[]
}

interface Action {
  readonly type: string
  readonly config?: object
}

interface Rule {
  readonly name?: string
  readonly expressions?: readonly string[]
  readonly actions: readonly Action[]
}

/** A policy that does the same as modules, and what it cannot do. */
export interface EdgePolicy {
  readonly phases: Record<string, Rule[]>
  readonly notes: string[]
}

type Phase = 'on_tcp_connect' | 'on_http_request' | 'on_http_response'

/** Rules by phase, in the order in which modules run. */
class PolicyWriter {
  readonly phases: Record<string, Rule[]> = {}
  readonly notes: string[] = []
  readonly #subject: string
  readonly #expressions: readonly string[]

  /** `expressions` limit all rules to what the modules apply to. */
  constructor(subject: string, expressions: readonly string[]) {
    this.#subject = subject
    this.#expressions = expressions
  }

  add(phase: Phase, name: string, actions: readonly Action[], expressions: readonly string[] = []): void {
    const all = [...this.#expressions, ...expressions]
    const rule = { name, ...(all.length === 0 ? {} : { expressions: all }), actions }
    this.phases[phase] = [...(this.phases[phase] ?? []), rule]
  }

  note(text: string): void {
    this.notes.push(`${this.#subject}: ${text}`)
  }
}

/** The policy of an edge: of an HTTPS edge, the rules of each route apply to its path. */
export function edgePolicy(edge: ShownEdge): EdgePolicy {
  const parts = edge.routes === undefined ? [rawPolicy(edge)] : httpsPolicies(edge, edge.routes)
  const phases: Record<string, Rule[]> = {}
  for (const part of parts)
    for (const [phase, rules] of Object.entries(part.phases))
      phases[phase] = [...(phases[phase] ?? []), ...rules]
  return { phases, notes: parts.flatMap(({ notes }) => notes) }
}

function rawPolicy(edge: ShownEdge): PolicyWriter {
  const writer = new PolicyWriter(edge.id, [])
  const restriction = enabled(edge.ip_restriction)
  if (restriction !== undefined) writer.add('on_tcp_connect', 'ip_restriction', [restrictIps(restriction)])
  addTls(edge, writer)
  addPolicy(edge, writer)
  noteBackend(edge, writer)
  return writer
}

function httpsPolicies(edge: ShownEdge, routes: readonly Route[]): PolicyWriter[] {
  const whole = new PolicyWriter(edge.id, [])
  addTls(edge, whole)
  return [whole, ...routes.map((route) => routePolicy(route, routes))]
}

function routePolicy(route: Route, routes: readonly Route[]): PolicyWriter {
  const writer = new PolicyWriter(`route ${route.match}`, pathExpressions(route, routes))
  for (const [name, convert] of Object.entries(CONVERSIONS)) {
    const settings = enabled(route[name])
    if (settings !== undefined) convert(settings, writer)
  }
  addPolicy(route, writer)
  if (enabled(route.websocket_tcp_converter) !== undefined)
    writer.note('websocket_tcp_converter has no action')
  noteBackend(route, writer)
  return writer
}

/** Which paths reach a route: those that it matches and that no more specific route does. */
function pathExpressions(route: Route, routes: readonly Route[]): string[] {
  const isBelow = ({ match_type, match }: Route) =>
    route.match_type === 'path_prefix' &&
    match.startsWith(route.match) &&
    (match_type !== 'path_prefix' || match !== route.match)
  const others = routes
    .filter((other) => other !== route && isBelow(other))
    .map((other) => `!(${matchOf(other)})`)
  return route.match_type === 'path_prefix' && route.match === '/' ? others : [matchOf(route), ...others]
}

const matchOf = ({ match_type, match }: Route) =>
  match_type === 'path_prefix'
    ? `req.url.path.startsWith(${quote(match)})`
    : `req.url.path == ${quote(match)}`

const ATTRIBUTE_NAMES = ['email_attribute', 'name_attribute', 'groups_attribute']

/** What is converted apart from the others, or has no action. */
type Unconverted = 'backend' | 'traffic_policy' | 'websocket_tcp_converter'

/** In the order of requests. A module that is missing here does not compile. */
const CONVERSIONS: Readonly<
  Record<Exclude<keyof typeof routeModules, Unconverted>, (settings: Settings, writer: PolicyWriter) => void>
> = {
  ip_restriction: (settings, writer) =>
    writer.add('on_http_request', 'ip_restriction', [restrictIps(settings)]),
  user_agent_filter({ allow, deny }, writer) {
    const any = (patterns: unknown, text: string) =>
      texts(patterns)
        .map((pattern) => `${text}.matches(${quote(pattern)})`)
        .join(' || ') || 'false'
    const agent = "getReqHeader('user-agent')"
    const absent = `!(${any(allow, "''")})`
    const denied = `(${any(deny, `${agent}[0]`)}) && !(${any(allow, `${agent}[0]`)})`
    const expression = `hasReqHeader('user-agent') ? ${denied} : ${absent}`
    writer.add('on_http_request', 'user_agent_filter', [{ type: 'deny' }], [expression])
  },
  webhook_verification: ({ provider, secret }, writer) =>
    writer.add('on_http_request', 'webhook_verification', [
      { type: 'verify-webhook', config: { provider: String(provider).toLowerCase(), secret } },
    ]),
  jwt_validation({ enabled: _enabled, audience, ...config }, writer) {
    const { allow_list } = audience as { allow_list: readonly unknown[] }
    writer.add('on_http_request', 'jwt_validation', [
      { type: 'jwt-validation', config: { ...config, ...(allow_list.length > 0 && { audience }) } },
    ])
  },
  oauth(settings, writer) {
    const [provider, client] = Object.entries(
      (settings.provider ?? {}) as Record<string, Settings | null>,
    ).find(([, value]) => value !== null) ?? ['', null]
    if (client === null) return
    const config = { provider, ...clientOf(client), ...sessionOf(settings, 'idle_session_timeout') }
    addSignIn('oauth', { type: 'oauth', config }, client, writer)
  },
  oidc(settings, writer) {
    const config = {
      issuer_url: settings.issuer,
      ...clientOf(settings),
      ...(settings.token_endpoint_auth_method !== '' && {
        token_endpoint_auth_method: settings.token_endpoint_auth_method,
      }),
      ...sessionOf(settings, 'idle_session_duration'),
    }
    addSignIn('oidc', { type: 'openid-connect', config }, settings, writer)
  },
  saml(settings, writer) {
    const { idp_metadata, idp_metadata_url, nameid_format } = settings
    const config = {
      idp_metadata: idp_metadata || idp_metadata_url,
      nameid_format,
      ...(settings.force_authn === true && { force_authn: true }),
      ...(settings.allow_idp_initiated === false && { allow_idp_initiated: false }),
      sign_requests: true,
      ...Object.fromEntries(
        ATTRIBUTE_NAMES.flatMap((name) => (settings[name] ? [[name, settings[name]]] : [])),
      ),
      ...sessionOf(settings, 'idle_session_timeout'),
    }
    writer.add('on_http_request', 'saml', [{ type: 'saml', config }])
    const groups = texts(settings.authorized_groups).map(quote)
    const isMember = `actions.ngrok.saml.identity.groups.exists(g, g in [${groups.join(', ')}])`
    addAdmission('saml', groups.length === 0 ? [] : [isMember], writer)
    writer.note(
      'saml on an endpoint has another entity ID and key: register it at the identity provider again',
    )
  },
  compression: (_settings, writer) =>
    writer.add('on_http_response', 'compression', [{ type: 'compress-response' }]),
  response_headers: (settings, writer) =>
    addHeaders('on_http_response', 'response_headers', settings, writer),
  request_headers: (settings, writer) => addHeaders('on_http_request', 'request_headers', settings, writer),
  circuit_breaker: (settings, writer) =>
    writer.add('on_http_request', 'circuit_breaker', [
      {
        type: 'circuit-breaker',
        config: {
          error_threshold: settings.error_threshold_percentage,
          volume_threshold: settings.volume_threshold,
          window_duration: `${settings.rolling_window}s`,
          tripped_duration: `${settings.tripped_duration}s`,
        },
      },
    ]),
}

function addSignIn(name: 'oauth' | 'oidc', action: Action, rules: Settings, writer: PolicyWriter): void {
  writer.add('on_http_request', name, [action])
  const email = `actions.ngrok.${name}.identity.email`
  const admitted = [
    ...texts(rules.email_addresses).map((address) => `${email}.lower() == ${quote(address.toLowerCase())}`),
    ...texts(rules.email_domains).map(
      (domain) => `${email}.lower().endsWith(${quote(`@${domain.toLowerCase()}`)})`,
    ),
  ]
  addAdmission(name, admitted, writer)
  for (const rule of ['teams', 'organizations', 'authorized_groups', 'authorized_claims'])
    if (texts(rules[rule]).length > 0)
      writer.note(`${rule} of ${name} has no field in the action; keep the module`)
}

/** Denies visitors for whom none of the expressions is true; without expressions, all may enter. */
function addAdmission(name: string, admitted: readonly string[], writer: PolicyWriter): void {
  if (admitted.length > 0)
    writer.add(
      'on_http_request',
      `${name}: who may enter`,
      [{ type: 'deny' }],
      [`!(${admitted.join(' || ')})`],
    )
}

function clientOf({ client_id, client_secret, scopes }: Settings) {
  return { client_id, client_secret, ...(texts(scopes).length === 0 ? {} : { scopes }) }
}

function sessionOf(settings: Settings, idle: string): Record<string, unknown> {
  const seconds = (value: unknown) => (Number(value) > 0 ? `${Number(value)}s` : undefined)
  const session = {
    max_session_duration: seconds(settings.maximum_duration),
    [idle]: seconds(settings.inactivity_timeout),
    userinfo_refresh_interval: seconds(settings.userinfo_refresh_interval ?? settings.auth_check_interval),
    allow_cors_preflight: settings.options_passthrough === true ? true : undefined,
  }
  return Object.fromEntries(Object.entries(session).filter(([, value]) => value !== undefined))
}

/** The variables of the header modules, and what policies call them. */
const VARIABLES: Readonly<Record<string, string>> = {
  'conn.client_ip': 'conn.client_ip',
  'conn.client_port': 'conn.client_port',
  'conn.server_ip': 'conn.server_ip',
  'conn.server_port': 'conn.server_port',
  'conn.server_name': 'conn.tls.sni',
  'conn.tls_version': "'TLSv' + conn.tls.version",
  'req.method': 'req.method',
  'req.host': 'req.host',
  'req.path': 'req.url.path',
  'res.status_code': 'res.status_code',
}

function addHeaders(phase: Phase, name: string, { add, remove }: Settings, writer: PolicyWriter): void {
  const headers = Object.entries((add ?? {}) as Record<string, string>).map(([field, value]) => [
    field,
    value.replace(/\$\{([^}$]*)\}/g, (written, variable: string) => {
      const expression = VARIABLES[variable.trim()]
      if (expression === undefined)
        writer.note(`${written} in ${name} has no equivalent variable in policies`)
      return expression === undefined ? `$\{"$"}{${variable}}` : `$\{${expression}}`
    }),
  ])
  const actions: Action[] = []
  if (texts(remove).length > 0) actions.push({ type: 'remove-headers', config: { headers: remove } })
  if (headers.length > 0)
    actions.push({ type: 'add-headers', config: { headers: Object.fromEntries(headers) } })
  if (actions.length > 0) writer.add(phase, name, actions)
}

/** The rules of the edge's own policy come last, as they run. */
function addPolicy(owner: Modules, writer: PolicyWriter): void {
  const policy = enabled(owner.traffic_policy)
  if (policy === undefined) return
  for (const [phase, rules] of Object.entries(parse(String(policy.value)) as Record<Phase, Rule[]>))
    for (const { name = 'traffic_policy', expressions = [], actions } of rules ?? [])
      writer.add(LEGACY_PHASES[phase] ?? (phase as Phase), name, actions, expressions)
}

const LEGACY_PHASES: Readonly<Record<string, Phase>> = {
  inbound: 'on_http_request',
  outbound: 'on_http_response',
}

/** Both modules of TLS are one action. */
function addTls(edge: Modules, writer: PolicyWriter): void {
  const termination = enabled(edge.tls_termination)
  const mutualTls = enabled(edge.mutual_tls)
  const version = termination?.min_version
  const config = {
    ...((version === '1.2' || version === '1.3') && { min_version: version }),
    ...(mutualTls && { mutual_tls_certificate_authorities: idsOf(mutualTls.certificate_authorities) }),
  }
  if (termination?.terminate_at === 'edge' || mutualTls !== undefined)
    writer.add('on_tcp_connect', 'tls', [{ type: 'terminate-tls', config }])
  if (version === '1.0' || version === '1.1')
    writer.note(`min_version ${version} of tls_termination has no value in the action; 1.2 is the lowest`)
  if (mutualTls !== undefined)
    writer.note('mutual_tls adds headers about the client; add those you need with ${conn.tls.client}')
}

function noteBackend(owner: Modules, writer: PolicyWriter): void {
  const { backend } = (enabled(owner.backend) ?? {}) as { backend?: { id?: string } }
  if (backend?.id !== undefined)
    writer.note(
      `the backend ${backend.id} is not part of the policy: requests go on to what the policy is attached to`,
    )
}

function restrictIps({ ip_policies }: Settings): Action {
  return { type: 'restrict-ips', config: { ip_policies: idsOf(ip_policies) } }
}

const idsOf = (references: unknown) => (references as readonly { id: string }[]).map(({ id }) => id)

function enabled(module: unknown): Settings | undefined {
  const settings = module as Settings | null | undefined
  return settings?.enabled === true ? settings : undefined
}

const texts = (value: unknown) => (Array.isArray(value) ? value.map(String) : [])
const quote = (text: string) => JSON.stringify(text)
