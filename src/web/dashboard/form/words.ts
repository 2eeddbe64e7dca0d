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
  extensions: 'Without a choice, what ssh-keygen grants: a terminal, forwarding and so on.',
  valid_after: 'A time such as 2027-01-31T12:00:00Z; without one, from now on.',
  valid_until: 'A time such as 2027-01-31T12:00:00Z; without one, for a long time.',
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
  'event_destinations.format': 'json, or leave it empty.',
  'users.active': 'Those who are switched off can neither sign in nor use their keys.',
  'bot_users.active': 'A bot that is switched off cannot use its keys.',
  'bot_users.name': 'The program or service that it stands for.',
  'ip_restrictions.enforced': 'Until it is enforced, it only counts what it would have refused.',
}

/** The words of choices that do not speak for themselves. */
const CHOICES: Readonly<Record<string, string>> = {
  read_only: 'Read only',
  admin: 'Administrator',
  developer: 'Developer',
  letsencrypt: "Let's Encrypt",
  rsa: 'RSA',
  ecdsa: 'ECDSA',
  ed25519: 'Ed25519',
}

/** `IP policy IDs` of `ip_policy_ids`. */
export function labelOf(name: string): string {
  const known = LABELS[name]
  if (known !== undefined) return known
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
export function choiceLabel(word: unknown): string {
  return CHOICES[String(word)] ?? String(word).replaceAll('_', ' ')
}
