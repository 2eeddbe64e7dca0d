const ACRONYMS = new Set(
  'acl api arn ca cidr dns http https id ids ip ips jwt oauth oidc pem rsa saml sni ssh ssl sso tcp tls ttl uri url urls xml'.split(
    ' ',
  ),
)

/** Labels for fields whose name does not convert well. */
const LABELS: Readonly<Record<string, string>> = {
  acl: 'Allowed binds',
  addr: 'Address',
  auth: 'Cloud credentials',
  ca_pem: 'Certificate (PEM)',
  certificate_pem: 'Certificate chain (PEM)',
  private_key_pem: 'Private key (PEM)',
  cidr: 'Address range',
  add: 'Headers to add',
  remove: 'Headers to remove',
  allow_idp_initiated: 'Allow IdP-initiated sign-in',
  allow: 'Allow',
  deny: 'Deny',
  client_id: 'Client ID',
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
  ssh_certificate_authority_id: 'Signed by',
  subject_alternative_names: 'Alternative names',
  sources: 'Events',
}

/** Hints by field; `tag.field` wins over `field`. */
const HINTS: Readonly<Record<string, string>> = {
  description: 'Shown in lists. At most 255 bytes.',
  metadata: 'Free text for your own programs, often JSON. At most 4096 bytes.',
  acl: 'One rule per line, such as bind:app.example.com or bind:*.example.com. Without rules, any address may be bound.',
  owner_id: 'The user who owns it; you by default.',
  public_key: 'One line as in an authorized_keys file: ssh-ed25519 AAAA…',
  principals: 'One name per line. Without names the certificate is valid for any.',
  critical_options: 'For example force-command or source-address.',
  extensions: 'Default: permit-pty and permit-user-rc. Most have no value; leave it empty.',
  valid_after: 'A time such as 2027-01-31T12:00:00Z; now by default.',
  'ssh_user_certificates.valid_until': 'A time such as 2027-01-31T12:00:00Z; 24 hours later by default.',
  'ssh_host_certificates.valid_until': 'A time such as 2027-01-31T12:00:00Z; one year later by default.',
  cidr: 'Such as 203.0.113.0/24 or 2001:db8::/32; a single address works too.',
  ca_pem: 'Starts with -----BEGIN CERTIFICATE-----.',
  certificate_pem: 'The certificate first, then its issuers.',
  private_key_pem: 'Stored encrypted and never shown again.',
  filter: 'For traffic events alone: an expression that says which of them to send.',
  fields: 'For traffic events alone: the fields to send, one a line.',
  domain: 'Such as connect.example.com.',
  email: 'Also the name to sign in with.',
  elliptic_curve: 'For ecdsa keys.',
  key_size: 'For rsa keys.',
  match: 'A path such as / or /api/. Prefixes match character by character, so /api also matches /apix.',
  labels: 'Agents join with the same labels, such as app=shop.',
  body: 'The response body.',
  status_code: 'Such as 200 or 503.',
  address: 'host:port that the server can reach, such as 192.0.2.10:8080.',
  issuer: 'The URL of the provider, such as https://login.example.com.',
  client_id: 'The ID of this application at the provider.',
  client_secret: 'The secret of this application at the provider.',
  scopes: 'One per line. openid is always requested.',
  options_passthrough: 'Lets CORS preflight requests pass without signing in.',
  cookie_prefix: 'The prefix of its cookie names.',
  inactivity_timeout: 'Seconds of inactivity after which visitors must sign in again; 0 for never.',
  maximum_duration: 'Seconds after which visitors must sign in again; 0 for never.',
  auth_check_interval: 'Seconds after which the session is checked with the provider again; 0 for never.',
  idp_metadata: 'The metadata XML of the identity provider, if it does not publish it at a URL.',
  idp_metadata_url: 'Where the identity provider publishes its metadata.',
  authorized_groups:
    'One per line. Members of one of these groups are admitted; without groups, everyone who can sign in.',
  email_addresses: 'One per line. Visitors with one of these addresses are admitted.',
  email_domains: 'One per line. Visitors with an address at one of these domains are admitted.',
  authorized_claims: 'One per line, such as department=ops. Visitors must have these claims.',
  terminate_at: 'Where TLS terminates: at this edge, or at the upstream service.',
  min_version: 'Older versions are rejected. Versions before 1.2 are never accepted.',
  tripped_duration: 'Seconds for which the breaker stays open and sends nothing to the backend.',
  rolling_window: 'Length of the rolling window in seconds.',
  num_buckets: 'The number of buckets the window is divided into.',
  volume_threshold: 'Requests within the window before the breaker can open.',
  error_threshold_percentage: 'From 0 to 1: the ratio of server errors at which it opens.',
  add: 'Names and values. Write variables such as conn.client_ip in braces after a dollar sign.',
  remove: 'One name per line; removed before others are added.',
  allow: 'Patterns, one per line. If there are any, clients that match none of them are rejected.',
  deny: 'Patterns, one per line. Clients that match one of them are rejected.',
  'edges_https_routes_webhook_verification.provider': 'The service that signs, such as github or stripe.',
  'edges_https_routes_oauth.provider': 'Where visitors sign in.',
  'event_destinations.format': 'The only supported format is json.',
  'users.active': 'Inactive users can neither sign in nor use their keys.',
  'bot_users.active': 'An inactive bot user cannot use its keys.',
  'bot_users.name': 'The program or service it represents.',
  'error_pages.status':
    'The status it is for, such as 502; 4xx and 5xx for the others of their class; all for the rest.',
  'error_pages.html':
    'A complete HTML page of at most 64 KiB. {{status}}, {{title}}, {{message}}, {{next_step}}, {{owner_step}}, {{code}} and {{host}} are replaced. Styles and images must be in the page; scripts do not run.',
  'ip_restrictions.enforced':
    'A restriction has no effect until it is enforced. Make sure your own address is allowed: you can lock yourself out.',
}

/** Labels of choices that need one. */
const CHOICES: Readonly<Record<string, string>> = {
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
        return /s$/.test(word) && word !== 'dns' && word !== 'https' && word !== 'tls'
          ? `${word.slice(0, -1).toUpperCase()}s`
          : word.toUpperCase()
      return index === 0 ? word.charAt(0).toUpperCase() + word.slice(1) : word
    })
    .join(' ')
}

/** The hint of a field, if any. */
export function hintOf(tag: string, name: string): string | undefined {
  return HINTS[`${tag}.${name}`] ?? HINTS[name]
}

/** The label of a choice. */
export function choiceLabel(choice: unknown): string {
  return CHOICES[String(choice)] ?? String(choice).replaceAll('_', ' ')
}
