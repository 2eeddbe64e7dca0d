import type { ErrorExplanation } from '../base/text/error-explanation.ts'
import { ProtocolError } from './mux/protocol-error.ts'

interface ErrorKind<Args extends readonly string[]> {
  /** Undefined where no established code has the same meaning. */
  number: number | undefined
  text: (...args: Args) => string
  /** Undefined without a number, and for the second error of a number. */
  explanation: ErrorExplanation | undefined
}

function defineError<Args extends readonly string[]>(
  number: number | undefined,
  text: (...args: Args) => string,
  explanation?: ErrorExplanation,
): ErrorKind<Args> {
  return { number, text, explanation }
}

/** Every error of the gateway. Numbers are the codes that existing tooling reacts to; docs/protocol.md lists them. */
export const protocolErrors = {
  metadata_too_long: defineError(
    100,
    () => 'The session metadata is longer than 4096 bytes. Shorten it and try again.',
    {
      cause: 'The metadata of the session is longer than 4096 bytes.',
      next: 'Shorten `metadata` in the configuration.',
    },
  ),
  token_malformed: defineError(
    105,
    () =>
      'The authtoken is malformed. Copy it again from the dashboard and save it with: adit config add-authtoken TOKEN',
    {
      cause: 'The authtoken is malformed: part of it is missing, or it is not an authtoken.',
      next: 'Copy it again from the dashboard and save it with `adit config add-authtoken TOKEN`.',
    },
  ),
  address_refused: defineError(
    115,
    (ip: string) => `The account's IP restrictions do not allow agents from ${ip}.`,
    {
      cause: 'An IP restriction of the account denies agents from this address.',
      next: 'Connect from another address, or ask for a rule in one of its IP policies.',
    },
  ),
  ingress_of_other_account: defineError(
    122,
    (name: string) =>
      `The agent ingress ${name} belongs to another account. Connect through the server's own address.`,
    {
      cause: 'The address in `connect_url` is an agent ingress of another account.',
      next: "Use the server's own address, or an ingress of the account the authtoken belongs to.",
    },
  ),
  token_unknown: defineError(
    107,
    () =>
      'The authtoken is not valid: it is unknown, was deleted or was replaced. Create a new one in the dashboard and save it with: adit config add-authtoken TOKEN',
    {
      cause:
        'The authtoken is well formed but not valid: it was deleted or replaced, or belongs to another server.',
      next: 'Create a new one in the dashboard and save it with `adit config add-authtoken TOKEN`; check `connect_url`.',
    },
  ),
  token_is_api_key: defineError(
    107,
    () =>
      'This is an API key, not an authtoken. Create an authtoken with: adit api credentials create --api-key KEY',
  ),
  too_many_sessions: defineError(
    108,
    () =>
      'The account holds as many sessions of agents and SSH clients as the server allows. Stop some of them, or try again later.',
    {
      cause:
        'The account has reached its limit of agent and SSH sessions on the server. The agent retries automatically, at other addresses of the server first.',
      next: 'Stop sessions that are not needed, or ask the operator to raise the limit of open files.',
    },
  ),
  auth_undecodable: defineError(109, (why: string) => `The Auth message cannot be read: ${why}`, {
    cause: 'The server cannot parse the authentication of the agent: one of the two is too old.',
    next: 'Update it; `adit version` prints the version.',
  }),
  heartbeat_interval: defineError(111, () => 'The heartbeat interval must be at least 1 s.', {
    cause: '`heartbeat_interval` is shorter than one second.',
    next: 'Choose a longer one.',
  }),
  heartbeat_tolerance: defineError(112, () => 'The heartbeat tolerance must be at least 1 s.', {
    cause: '`heartbeat_tolerance` is shorter than one second.',
    next: 'Choose a longer one.',
  }),
  credential_revoked: defineError(
    300,
    () => 'The credential of this session was deleted. Authenticate with another one.',
    {
      cause: 'The credential of the session was deleted while it was in use.',
      next: 'Create another authtoken and save it with `adit config add-authtoken TOKEN`.',
    },
  ),
  message_undecodable: defineError(301, (why: string) => `The message cannot be read: ${why}`, {
    cause: 'The server cannot parse the request of the agent: one of the two is too old.',
    next: 'Update it; `adit version` prints the version.',
  }),
  address_not_reserved: defineError(
    307,
    (address: string) =>
      `The TCP address ${address} is not reserved. Reserve it first or ask for any address.`,
    {
      cause: 'The TCP address is not reserved.',
      next: 'Reserve it in the dashboard first, or ask for any address with `--url tcp://`.',
    },
  ),
  address_forbidden: defineError(
    308,
    (address: string) =>
      `The credential's ACL does not allow the address ${address}. Add a rule such as bind:${address}.`,
    {
      cause: 'The ACL of the credential does not allow this TCP address.',
      next: 'Add a rule such as `bind:tcp.example.com:20001` to it.',
    },
  ),
  address_of_other_account: defineError(
    309,
    (address: string) => `The TCP address ${address} belongs to another account.`,
    { cause: 'The TCP address is reserved by another account.', next: 'Ask for another one.' },
  ),
  name_forbidden: defineError(
    316,
    (name: string) =>
      `The credential's ACL does not allow the name ${name}. Add a rule such as bind:${name}.`,
    {
      cause: 'The ACL of the credential does not allow this name.',
      next: 'Add a rule such as `bind:app.example.com` to it.',
    },
  ),
  wildcard_not_reserved: defineError(
    318,
    (name: string) =>
      `The wildcard ${name} must be reserved before an agent may use it. Reserve it with: adit api reserved-domains create --domain '${name}'`,
    {
      cause: 'A wildcard such as `*.app.example.com` must be reserved before an agent may use it.',
      next: 'Reserve it in the dashboard.',
    },
  ),
  name_not_reserved: defineError(
    319,
    (name: string, domain: string) =>
      `The name ${name} must be reserved before an agent may use it. Reserve it with: adit api reserved-domains create --domain ${name}\nOr use a name right below ${domain}.`,
    {
      cause: 'The name must be reserved before an agent may use it.',
      next: 'Reserve it in the dashboard, or ask for a name directly below the domain of the server.',
    },
  ),
  name_incomplete: defineError(
    319,
    (name: string, domain: string) =>
      `"${name}" is not a complete name. To use it below the domain of this server: --url https://${name}.${domain}`,
  ),
  name_of_other_account: defineError(
    320,
    (name: string) =>
      `The name ${name} belongs to another account. Choose another one, or leave --url out for a random name.`,
    {
      cause:
        'The name is reserved by another account, or belongs to the platform itself (`idp`, `connect`, `tcp`, `cname`, `acme-challenge` and `ns1` to `ns4` under its domain, with everything below them).',
      next: 'Ask for another one.',
    },
  ),
  name_of_platform: defineError(
    320,
    (name: string) => `The name ${name} belongs to the platform itself. Choose another one.`,
  ),
  kubernetes_proto: defineError(
    18018,
    (proto: string) => `An endpoint in Kubernetes clusters is http, tls or tcp, not ${proto}.`,
  ),
  too_many_tunnels: defineError(
    324,
    (limit: string) => `This session already has ${limit} tunnels, the most it may have.`,
    { cause: 'The session has reached its limit of tunnels.', next: 'Stop one, or start another agent.' },
  ),
  name_malformed: defineError(326, (name: string) => `${name} is not a valid domain name.`, {
    cause:
      'This is not a valid domain name. Labels have letters, digits and hyphens, and 63 characters at most.',
    next: 'Correct the name.',
  }),
  protocol_unknown: defineError(
    332,
    (proto: string) => `There is no protocol "${proto}". Use http, https, tcp or tls.`,
    { cause: 'There is no such protocol.', next: 'Use http, https, tcp or tls.' },
  ),
  tunnel_unknown: defineError(333, (id: string) => `There is no tunnel with the id ${id} in this session.`, {
    cause: 'The session has no tunnel with this id: it was already stopped.',
    next: 'Start it again.',
  }),
  name_taken: defineError(
    334,
    (url: string) =>
      `${url} is already online. It is already bound to another tunnel session: stop that tunnel, or enable pooling on both (--pooling-enabled) to share the address.`,
    {
      cause: 'Another tunnel serves this address.',
      next: 'Stop it, or set `--pooling-enabled` on both to share the address.',
    },
  ),
  name_expiring: defineError(
    33401,
    (url: string) =>
      `${url} is held by a session that does not answer. It becomes available when that session expires; try again shortly.`,
    {
      cause: 'An unresponsive session of the same credential holds this address and may still recover.',
      next: 'Wait: the address becomes free within seconds, when that session expires. `adit http` and similar commands retry automatically; other programs should retry.',
    },
  ),
  names_unavailable: defineError(
    33402,
    (url: string) =>
      `${url} cannot be claimed while the server's database is unavailable; only names held before can be bound. Try again shortly.`,
    {
      cause:
        "The server's database is unavailable, and only addresses that the agent had before can be bound.",
      next: 'Wait: `adit http` and similar commands retry until it is back; other programs should retry.',
    },
  ),
  name_in_cooldown: defineError(
    33403,
    (url: string) =>
      `${url} was used by another account until recently and is still reserved. Choose another name.`,
    {
      cause:
        "Another account used this address recently. It stays blocked for a day, or for the operator's `--name-cooldown`, so that an address that clients still use cannot be taken over.",
      next: 'Request another one.',
    },
  ),
  options_invalid: defineError(33404, (why: string) => `The options of the tunnel are not valid: ${why}`, {
    cause:
      'An option of the tunnel has a value that the server does not accept; the message names it and says why.',
    next: 'Correct that flag or key. `adit http --help` lists the options, and `docs/agent-config.md` the keys.',
  }),
  random_address_forbidden: defineError(
    356,
    () =>
      "The credential's ACL does not allow a random TCP address. Ask for an allowed address, or relax the ACL.",
    {
      cause: 'The ACL of the credential does not allow a random TCP address.',
      next: 'Request an allowed one with `--url`, or relax the ACL.',
    },
  ),
  no_address_free: defineError(
    undefined,
    () => 'No public TCP port is free. Stop a tunnel or widen the port range of the server.',
  ),
  name_held_by_edge: defineError(
    381,
    (name: string) =>
      `The name ${name} is served by an edge. Start a labelled tunnel for its backend instead.`,
    {
      cause: 'The name is served by an edge.',
      next: 'Start a labelled tunnel for one of its backends instead: `adit tunnel --label key=value ADDRESS`.',
    },
  ),
  labels_forbidden: defineError(
    399,
    (label: string) =>
      `The credential's ACL does not allow the label ${label}. Add a rule such as bind:${label}.`,
    {
      cause: 'The ACL of the credential does not allow this label.',
      next: 'Add a rule such as `bind:key=value` to it.',
    },
  ),
  not_authenticated: defineError(undefined, () => 'The session is not authenticated. Send Auth first.'),
  session_unknown: defineError(
    undefined,
    () =>
      'The session that this connection would join is not online here, or is not the session of this agent.',
  ),
  leg_at_home: defineError(
    undefined,
    () => 'This leg has reached the home of its session, and has to end at another process. Dial again.',
  ),
  too_many_legs: defineError(
    undefined,
    () => 'The agents of the account already have as many additional legs as the server allows.',
  ),
  session_at_other_node: defineError(
    undefined,
    () => 'This leg only carries streams: the session belongs to another node.',
  ),
  request_unknown: defineError(undefined, (type: string) => `There is no request of type ${type}.`),
  unavailable: defineError(undefined, () => 'The server cannot answer at the moment. Try again shortly.'),
} as const

/**
 * Transient errors, with how long a retry makes sense: until an unresponsive session has expired, while the database is
 * unavailable, until other sessions of the account have ended.
 */
export const RETRYABLE_ERRORS: ReadonlyMap<number | undefined, number> = new Map([
  [protocolErrors.name_expiring.number, 60_000],
  [protocolErrors.names_unavailable.number, Number.POSITIVE_INFINITY],
  [protocolErrors.too_many_sessions.number, Number.POSITIVE_INFINITY],
])

type ProtocolErrors = typeof protocolErrors

/** Creates an error of the catalogue: a wrong key or a missing argument does not compile. */
export function protocolError<K extends keyof ProtocolErrors>(
  key: K,
  ...args: Parameters<ProtocolErrors[K]['text']>
): ProtocolError {
  const { number, text } = protocolErrors[key] as ErrorKind<readonly string[]>
  return new ProtocolError(text(...args), number)
}
