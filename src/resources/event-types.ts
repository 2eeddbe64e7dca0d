const RESOURCE_EVENTS = [
  'api_key',
  'certificate_authority',
  'domain',
  'event_destination',
  'event_subscription',
  'ip_policy',
  'ip_policy_rule',
  'ip_restriction',
  'ssh_certificate_authority',
  'ssh_host_certificate',
  'ssh_public_key',
  'ssh_user_certificate',
  'tcp_address',
  'tls_certificate',
  'tunnel_credential',
  'agent_ingress',
  'http_response_backend',
  'tunnel_group_backend',
  'weighted_backend',
  'failover_backend',
  'static_backend',
  'tls_edge',
  'tcp_edge',
  'https_edge',
  'https_edge_route',
  'endpoint_configuration',
  'endpoint',
  'error_page',
  'vault',
  'secret',
  'user',
  'bot_user',
  'kubernetes_operator',
].flatMap((stem) => ['created', 'updated', 'deleted'].map((action) => `${stem}_${action}.v0`))

const SESSION_EVENTS = [
  'agent_session_start.v0',
  'agent_session_stop.v0',
  'tunnel_start.v0',
  'tunnel_stop.v0',
]

const SIGN_IN_EVENTS = ['sign_in_failed.v0']

const DATABASE_EVENTS = ['database_revisions_lost.v0']

const CONNECTION_FIELDS = [
  'conn.client_ip',
  'conn.server_ip',
  'conn.server_name',
  'conn.server_port',
  'conn.start_ts',
  'ip_policy.decision',
  'traffic_policy.logs',
]

const TCP_FIELDS = [...CONNECTION_FIELDS, 'conn.bytes_in', 'conn.bytes_out', 'conn.end_ts']

const HTTP_FIELDS = [
  ...CONNECTION_FIELDS,
  'backend.connection_reused',
  'basic_auth.decision',
  'basic_auth.username',
  'circuit_breaker.decision',
  'compression.algorithm',
  'compression.bytes_saved',
  'http.request.body_length',
  'http.request.headers',
  'http.request.method',
  'http.request.url.host',
  'http.request.url.path',
  'http.request.url.query',
  'http.request.url.raw',
  'http.request.url.scheme',
  'http.request.user_agent',
  'http.response.body_length',
  'http.response.headers',
  'http.response.status_code',
  'oauth.app_client_id',
  'oauth.decision',
  'oauth.user.id',
  'oauth.user.name',
  'tls.cipher_suite',
  'tls.version',
  'tls.client_cert.serial_number',
  'tls.client_cert.subject.cn',
  'webhook_verification.decision',
  'user_agent_filter.decision',
]

/** The traffic events and the fields each can carry. */
export const TRAFFIC_FIELDS: Readonly<Record<string, ReadonlySet<string>>> = {
  'http_request_complete.v0': new Set(HTTP_FIELDS),
  'tcp_connection_closed.v0': new Set(TCP_FIELDS),
}

/** Every event type a subscription can name. */
export const EVENT_TYPES: ReadonlySet<string> = new Set([
  ...RESOURCE_EVENTS,
  ...SESSION_EVENTS,
  ...SIGN_IN_EVENTS,
  ...DATABASE_EVENTS,
  ...Object.keys(TRAFFIC_FIELDS),
])
