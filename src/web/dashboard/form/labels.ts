const ACRONYMS = new Set(
  'acl api arn ca cidr dns http https id ids ip ips jwt oauth oidc pem rsa saml sni ssh ssl sso tcp tls ttl uri url urls xml'.split(
    ' ',
  ),
)

/** Names that read badly when they are only taken apart. */
const LABELS: Readonly<Record<string, string>> = {
  acl: 'Allowed binds',
  addr: 'Address',
  auth: 'Credentials of the cloud account',
  ca_pem: 'Certificate (PEM)',
  certificate_pem: 'Certificate chain (PEM)',
  private_key_pem: 'Private key (PEM)',
  cidr: 'Address range',
  add: 'Headers to add',
  remove: 'Headers to remove',
  allow_idp_initiated: 'Allow sign-ins that begin at the provider',
  allow: 'Let in',
  deny: 'Keep out',
  client_id: 'Client ID',
  error_threshold_percentage: 'Part of errors',
  force_authn: 'Ask for the password at every sign-in',
  idp_metadata: 'Metadata of the provider (XML)',
  idp_metadata_url: 'Address of its metadata',
  match: 'Path',
  match_type: 'What it covers',
  min_version: 'Oldest version of TLS',
  nameid_format: 'Format of name IDs',
  num_buckets: 'Parts of the window',
  options_passthrough: 'Let OPTIONS requests pass',
  rolling_window: 'Window (seconds)',
  terminate_at: 'TLS ends at',
  tripped_duration: 'Pause (seconds)',
  volume_threshold: 'Least requests',
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
  ns_targets: 'Name servers to delegate to',
  owner_id: 'Owner',
  role_arn: 'Role (ARN)',
  ssh_certificate_authority_id: 'Signed by',
  subject_alternative_names: 'Alternative names',
  sources: 'Events',
}

/** Helps for one field; those of a resource go before those of all. */
const HINTS: Readonly<Record<string, string>> = {
  description: 'What people see in lists. At most 255 bytes.',
  metadata: 'Any text for your own programs, often JSON. At most 4096 bytes.',
  acl: 'One rule a line, such as bind:app.example.com or bind:*.example.com. Without rules everything may be bound.',
  owner_id: 'Whose it is; without a choice, yours.',
  public_key: 'One line as in an authorized_keys file: ssh-ed25519 AAAA…',
  principals: 'One name a line. Without names the certificate is good for any.',
  critical_options: 'For example force-command or source-address.',
  extensions: 'Without any: permit-pty and permit-user-rc. Most have no value; leave it empty.',
  valid_after: 'A time such as 2027-01-31T12:00:00Z; without one, from now on.',
  'ssh_user_certificates.valid_until': 'A time such as 2027-01-31T12:00:00Z; without one, 24 hours later.',
  'ssh_host_certificates.valid_until': 'A time such as 2027-01-31T12:00:00Z; without one, a year later.',
  cidr: 'Such as 203.0.113.0/24 or 2001:db8::/32; a single address works too.',
  ca_pem: 'Begins with -----BEGIN CERTIFICATE-----.',
  certificate_pem: 'The certificate first, then those that signed it.',
  private_key_pem: 'Kept encrypted and never shown again.',
  filter: 'For traffic events alone: an expression that says which of them to send.',
  fields: 'For traffic events alone: the fields to send, one a line.',
  domain: 'Such as connect.example.com.',
  email: 'Also the name to sign in with.',
  elliptic_curve: 'For ecdsa keys.',
  key_size: 'For rsa keys.',
  match: 'A path such as / or /api/. It is compared letter by letter, so /api also covers /apix.',
  labels: 'Agents join with the same labels, such as app=shop.',
  body: 'The text of the answer.',
  status_code: 'Such as 200 or 503.',
  address: 'host:port that the server itself can reach, such as 192.0.2.10:8080.',
  issuer: 'The address of the provider, such as https://login.example.com.',
  client_id: 'What the provider calls this application.',
  client_secret: 'Its password at the provider.',
  scopes: 'One a line. openid is always asked for.',
  options_passthrough: 'Lets OPTIONS requests of browsers (CORS) pass without signing in.',
  cookie_prefix: 'What the names of its cookies begin with.',
  inactivity_timeout: 'Seconds without a request after which visitors sign in again; 0 for never.',
  maximum_duration: 'Seconds after which visitors sign in again in any case; 0 for never.',
  auth_check_interval: 'Seconds after which the provider is asked again; 0 for never.',
  idp_metadata: 'The XML of the identity provider, if it has no address for it.',
  idp_metadata_url: 'Where the identity provider publishes its metadata.',
  authorized_groups: 'One a line. Without groups everybody who can sign in is let in.',
  terminate_at: 'Where TLS ends: at this edge, or at the service behind it.',
  min_version: 'Older versions are refused. Nothing older than 1.2 is ever spoken.',
  tripped_duration: 'Seconds for which nothing is sent to the backend once it has failed too often.',
  rolling_window: 'Seconds that are looked at.',
  num_buckets: 'Into how many parts the window is divided.',
  volume_threshold: 'Requests within the window before anything is decided.',
  error_threshold_percentage: 'From 0 to 1: the part of server errors at which it opens.',
  add: 'Names and values. Variables such as conn.client_ip stand in braces after a dollar sign.',
  remove: 'One name a line; removed before others are added.',
  allow: 'Patterns, one a line. With any, whoever fits none of them is kept out.',
  deny: 'Patterns, one a line. Whoever fits one of them is kept out.',
  'edges_https_routes_webhook_verification.provider': 'The service that signs, such as github or stripe.',
  'edges_https_routes_oauth.provider': 'Where visitors sign in.',
  'event_destinations.format': 'The only format so far is json.',
  'users.active': 'Those who are switched off can neither sign in nor use their keys.',
  'bot_users.active': 'A bot that is switched off cannot use its keys.',
  'bot_users.name': 'The program or service that it stands for.',
  'ip_restrictions.enforced':
    'Nothing is restricted until it is enforced. Make sure your own address passes: you can lock yourself out.',
}

/** The words of choices that do not speak for themselves. */
const CHOICES: Readonly<Record<string, string>> = {
  read_only: 'Read only',
  admin: 'Administrator',
  developer: 'Developer',
  exact_path: 'Exactly this path',
  path_prefix: 'This path and all that begin with it',
  edge: 'This edge',
  upstream: 'The service behind it',
  letsencrypt: "Let's Encrypt",
  rsa: 'RSA',
  ecdsa: 'ECDSA',
  ed25519: 'Ed25519',
}

/** `IP policy IDs` of `ip_policy_ids`. */
export function labelOf(name: string): string {
  const override = LABELS[name]
  if (override !== undefined) return override
  // A reference is chosen by its description, so its label does not speak of ids.
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

/** What helps to fill in a field, if anything needs to be said. */
export function hintOf(tag: string, name: string): string | undefined {
  return HINTS[`${tag}.${name}`] ?? HINTS[name]
}

/** How a choice is offered. */
export function choiceLabel(choice: unknown): string {
  return CHOICES[String(choice)] ?? String(choice).replaceAll('_', ' ')
}
