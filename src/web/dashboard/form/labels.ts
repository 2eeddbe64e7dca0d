const ACRONYMS = new Set(
  'acl api arn ca cidr crl csr dns http https id ids ip ips jws jwt oauth ocsp oidc pem rsa saml sni ssh ssl sso tcp tls ttl uri url urls xml'.split(
    ' ',
  ),
)

/** Labels for fields whose name does not convert well. */
const LABELS: Readonly<Record<string, string>> = {
  acl: 'Bind rules',
  addr: 'Address',
  additional_jkus: 'Key set URLs',
  reserved_addrs: 'Reserved addresses',
  auth: 'Cloud credentials',
  ca_pem: 'Certificate (PEM)',
  certificate_pem: 'Certificate chain (PEM)',
  private_key_pem: 'Private key (PEM)',
  cidr: 'Address range',
  auth_check_interval: 'Sign-in check interval',
  cloud_access_key_id: 'Access key ID',
  cloud_secret_access_key: 'Secret access key',
  data_collection_rule_id: 'Data collection rule ID',
  hostname: 'Host name',
  hostport: 'Host and port',
  hostports: 'Host names and ports',
  hostnames: 'Host names',
  http_response_backend: 'Fixed response backend',
  static_backend: 'Fixed address backend',
  msg: 'Message',
  not_before: 'Valid after',
  not_after: 'Valid until',
  cert_sign: 'Certificate signing',
  crl_sign: 'CRL signing',
  github: 'GitHub',
  gitlab: 'GitLab',
  linkedin: 'LinkedIn',
  max_file_age: 'Maximum file age',
  max_file_size: 'Maximum file size',
  oauth: 'OAuth',
  tenant_id: 'Tenant ID',
  user_agent_filter: 'User-Agent filter',
  websocket_tcp_converter: 'WebSocket to TCP',
  add: 'Headers to add',
  remove: 'Headers to remove',
  allow_idp_initiated: 'Allow IdP-initiated sign-in',
  allow: 'Allow',
  deny: 'Deny',
  client_id: 'Client ID',
  token_endpoint_auth_method: 'Client authentication',
  userinfo_refresh_interval: 'UserInfo refresh interval',
  error_threshold_percentage: 'Error ratio',
  force_authn: 'Require a password at every sign-in',
  html: 'HTML',
  idp_metadata: 'Provider metadata (XML)',
  idp_metadata_url: 'Provider metadata URL',
  match: 'Path',
  match_type: 'Match type',
  min_version: 'Minimum TLS version',
  nameid_format: 'Name ID format',
  num_buckets: 'Buckets',
  options_passthrough: 'Pass OPTIONS requests',
  rolling_window: 'Window (seconds)',
  terminate_at: 'Terminate TLS at',
  updated_at: 'Updated',
  started_at: 'Started',
  principal: 'User',
  proto: 'Protocol',
  tripped_duration: 'Open duration (seconds)',
  volume_threshold: 'Minimum requests',
  creds: 'Access key',
  ddsite: 'Site',
  ddtags: 'Tags',
  destination_ids: 'Destinations',
  firehose: 'Amazon Data Firehose',
  kinesis: 'Amazon Kinesis',
  cloudwatch_logs: 'Amazon CloudWatch Logs',
  s3: 'Amazon S3',
  webhook: 'Webhook',
  monitoring: 'Datadog',
  azure_logs_ingestion: 'Azure Monitor',
  ns_targets: 'Name servers to delegate to',
  owner_id: 'Owner',
  role_arn: 'Role (ARN)',
  lat_long_radius_km: 'Accuracy (km)',
  last_login: 'Last sign-in',
  os_name: 'Operating system',
  os_version: 'Operating system version',
  raw: 'User-Agent header',
  ssh_certificate_authority_id: 'Signed by',
  subject_alternative_names: 'Alternative names',
  sources: 'Events',
}

/** Labels of choices that need one. */
const CHOICES: Readonly<Record<string, string>> = {
  '': 'Automatic',
  read_only: 'Read only',
  admin: 'Administrator',
  developer: 'Developer',
  exact_path: 'Exact path',
  path_prefix: 'Path prefix',
  edge: 'This edge',
  upstream: 'The upstream service',
  letsencrypt: "Let's Encrypt",
  rsa: 'RSA',
  ecdsa: 'ECDSA',
  ed25519: 'Ed25519',
  client_secret_basic: 'HTTP Basic',
  client_secret_post: 'Form field',
  none: 'None',
  dashboard: 'Dashboard',
  api: 'API',
  agent: 'Agents',
  endpoints: 'Endpoints',
  IGNORE: 'Ignored',
}

/** The label of a field name: `IP policies` for `ip_policy_ids`. */
export function labelOf(name: string): string {
  const override = LABELS[name]
  if (override !== undefined) return override
  // References are chosen by description, so their labels omit "id".
  const words = name
    .replace(/_id$/, '')
    .replace(/y_ids$/, 'ies')
    .replace(/_ids$/, 's')
    .split('_')
  return words
    .map((word, index) => {
      if (ACRONYMS.has(word))
        return /s$/.test(word) && !['dns', 'https', 'jws', 'tls'].includes(word)
          ? `${word.slice(0, -1).toUpperCase()}s`
          : word.toUpperCase()
      return index === 0 ? word.charAt(0).toUpperCase() + word.slice(1) : word
    })
    .join(' ')
}

/** The label of a choice: `Partially processed` for `PARTIALLY_PROCESSED`. */
export function choiceLabel(choice: unknown): string {
  const text = String(choice)
  const label = CHOICES[text]
  if (label !== undefined) return label
  return /^[A-Z_]+$/.test(text) ? labelOf(text.toLowerCase()) : text.replaceAll('_', ' ')
}

/** `Agent session start` for `agent_session_start.v0`. */
export const eventLabel = (type: string): string => labelOf(type.replace(/\.v0$/, ''))

/** A title inside a sentence: `tunnel credentials` for `Tunnel credentials`, but `API keys` unchanged. */
export function lowerFirst(title: string): string {
  return /^[A-Z][a-z]/.test(title) && !title.startsWith('Kubernetes')
    ? title.charAt(0).toLowerCase() + title.slice(1)
    : title
}
