/** Why an agent could not connect to the upstream of a tunnel. */
export interface DialFailure {
  /** Completes "could not connect to its upstream". It names no address: visitors see it. */
  readonly reason: string
  /** What the owner of the tunnel does about it. */
  readonly next: string
}

/** The field of an agent's 502 that names the failure; its body names the address, which visitors do not see. */
export const DIAL_FAILURE_FIELD = 'Adit-Dial-Failure'

/** The failures that an agent tells apart, by the value of the field. */
export const dialFailures = {
  refused: {
    reason: 'connection refused',
    next: 'Start the local service, or correct its port: `adit http 3000`.',
  },
  timeout: {
    reason: 'no answer in time',
    next: 'Check the address of the service, and the firewall between it and the agent.',
  },
  reset: {
    reason: 'it closed the connection',
    next: 'If the service does not use TLS, begin its address with `http://`. Otherwise check its log.',
  },
  not_tls: {
    reason: 'it does not speak TLS',
    next: 'Begin its address with `http://`: `adit http http://localhost:3000`.',
  },
  tls: {
    reason: 'the TLS handshake failed',
    next: 'Compare the TLS versions and client certificates that the service accepts; its log names the reason.',
  },
  certificate_untrusted: {
    reason: 'its certificate is not trusted',
    next: 'Set the authority that issued it with `--upstream-tls-verify-cas FILE`, or leave out `--upstream-tls-verify`.',
  },
  certificate_name: {
    reason: 'its certificate is for another name',
    next: 'Use a name of the certificate in the address of the service, or leave out `--upstream-tls-verify`.',
  },
  certificate_expired: {
    reason: 'its certificate has expired or is not valid yet',
    next: 'Renew the certificate of the service, and check the clock of the machine of the agent.',
  },
  unresolved: {
    reason: 'the name cannot be resolved',
    next: 'Check the spelling of the host name; it has to resolve on the machine of the agent.',
  },
  no_socket: {
    reason: 'there is no such socket',
    next: 'Start the local service, or correct the path of its socket.',
  },
  not_permitted: {
    reason: 'permission denied',
    next: 'Allow the user that runs the agent to open the socket of the service.',
  },
  no_route: {
    reason: 'the host cannot be reached',
    next: 'Check the address of the service, and the network of the machine of the agent.',
  },
} as const satisfies Record<string, DialFailure>

/** The name of a failure that an agent tells apart. */
export type DialFailureName = keyof typeof dialFailures
