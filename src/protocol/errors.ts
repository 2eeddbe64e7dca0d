import { ProtocolError } from './protocol-error.ts'

interface ErrorKind<Args extends readonly string[]> {
  /** Undefined where no established code has the same meaning. */
  number: number | undefined
  text: (...args: Args) => string
}

function defineError<Args extends readonly string[]>(
  number: number | undefined,
  text: (...args: Args) => string,
): ErrorKind<Args> {
  return { number, text }
}

/** Every error of the gateway. Numbers are the codes that existing tooling reacts to; docs/protocol.md lists them. */
export const protocolErrors = {
  metadata_too_long: defineError(
    100,
    () => 'The session metadata is longer than 4096 bytes. Shorten it and try again.',
  ),
  token_malformed: defineError(
    105,
    () =>
      'The authtoken is not well formed. Copy it again from the dashboard and save it with `config add-authtoken`.',
  ),
  address_refused: defineError(
    115,
    (ip: string) => `The account's IP restrictions do not let agents connect from ${ip}.`,
  ),
  ingress_of_other_account: defineError(
    122,
    (name: string) =>
      `The agent ingress ${name} belongs to another account. Connect through the server's own address.`,
  ),
  token_unknown: defineError(
    107,
    () =>
      'The authtoken is not valid: it is unknown, was deleted or was replaced. Create a new one in the dashboard.',
  ),
  too_many_sessions: defineError(
    108,
    () =>
      'The account holds as many sessions of agents and SSH clients as the server has room for. Stop some of them, or try again later.',
  ),
  auth_undecodable: defineError(109, (why: string) => `The Auth message cannot be read: ${why}`),
  heartbeat_interval: defineError(111, () => 'The heartbeat interval must be at least 1 s.'),
  heartbeat_tolerance: defineError(112, () => 'The heartbeat tolerance must be at least 1 s.'),
  credential_revoked: defineError(
    300,
    () => 'The credential of this session was deleted. Authenticate with another one.',
  ),
  message_undecodable: defineError(301, (why: string) => `The message cannot be read: ${why}`),
  address_not_reserved: defineError(
    307,
    (address: string) =>
      `The TCP address ${address} is not reserved. Reserve it first or ask for any address.`,
  ),
  address_forbidden: defineError(
    308,
    (address: string) =>
      `The credential's ACL does not allow the address ${address}. Add a rule such as bind:${address}.`,
  ),
  address_of_other_account: defineError(
    309,
    (address: string) => `The TCP address ${address} belongs to another account.`,
  ),
  name_forbidden: defineError(
    316,
    (name: string) =>
      `The credential's ACL does not allow the name ${name}. Add a rule such as bind:${name}.`,
  ),
  wildcard_not_reserved: defineError(
    318,
    (name: string) => `The wildcard ${name} must be reserved before an agent may use it.`,
  ),
  name_not_reserved: defineError(
    319,
    (name: string) => `The name ${name} must be reserved before an agent may use it.`,
  ),
  name_of_other_account: defineError(320, (name: string) => `The name ${name} belongs to another account.`),
  name_of_platform: defineError(
    320,
    (name: string) => `The name ${name} belongs to the platform itself. Choose another one.`,
  ),
  too_many_tunnels: defineError(
    324,
    (limit: string) => `This session already has ${limit} tunnels, the most it may have.`,
  ),
  name_malformed: defineError(326, (name: string) => `${name} is not a valid domain name.`),
  protocol_unknown: defineError(
    332,
    (proto: string) => `There is no protocol "${proto}". Use http, https, tcp or tls.`,
  ),
  tunnel_unknown: defineError(333, (id: string) => `There is no tunnel with the id ${id} in this session.`),
  name_taken: defineError(
    334,
    (url: string) =>
      `${url} is already online. Stop the other tunnel, or enable pooling on both to share the address.`,
  ),
  name_expiring: defineError(
    33401,
    (url: string) =>
      `${url} is held by a session that does not answer. It becomes available when that session expires; try again shortly.`,
  ),
  names_unavailable: defineError(
    33402,
    (url: string) =>
      `${url} cannot be claimed while the server's database is unavailable; only names held before can be bound. Try again shortly.`,
  ),
  name_in_cooldown: defineError(
    33403,
    (url: string) =>
      `${url} was used by another account until recently and is still reserved. Choose another name.`,
  ),
  options_invalid: defineError(undefined, (why: string) => `The options of the tunnel are not valid: ${why}`),
  random_address_forbidden: defineError(
    356,
    () =>
      "The credential's ACL does not allow a random TCP address. Ask for an allowed address, or relax the ACL.",
  ),
  no_address_free: defineError(
    undefined,
    () => 'No public TCP port is free. Stop a tunnel or widen the port range of the server.',
  ),
  name_held_by_edge: defineError(
    381,
    (name: string) =>
      `The name ${name} is served by an edge. Start a labelled tunnel for its backend instead.`,
  ),
  labels_forbidden: defineError(
    399,
    (label: string) =>
      `The credential's ACL does not allow the label ${label}. Add a rule such as bind:${label}.`,
  ),
  not_authenticated: defineError(undefined, () => 'The session is not authenticated. Send Auth first.'),
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
