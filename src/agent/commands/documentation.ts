import type { ErrorExplanation } from '../../base/error-explanation.ts'

/** The errors of `diagnose`, by the failed step. */
export const diagnosisErrors = {
  resolve: {
    code: 8000,
    cause: 'The name of the server, or `localhost`, cannot be resolved.',
    next: 'Check its spelling in `connect_url`, the name servers of this machine and `dns_resolver_ips`; without `-4` or `-6` the other family may have an address.',
  },
  tcp: {
    code: 8002,
    cause:
      'No TCP connection to the server or the proxy can be established: nothing listens there, or a firewall blocks it.',
    next: 'Check address and port, and whether the server runs.',
  },
  tls: {
    code: 8003,
    cause:
      'TLS with the server fails: its certificate is not trusted, or the port does not belong to a server for agents.',
    next: 'Set the authority of the server with `connect_cas`; if that is right, the connection is being intercepted. Otherwise check the port in `connect_url`.',
  },
  protocol: {
    code: 8004,
    cause: 'The server was reached, but no session was established; the sentence above the code says why.',
    next: 'Do what the sentence says; errors of the server have a code of their own.',
  },
  resolveProxy: {
    code: 8005,
    cause: 'The name of the proxy cannot be resolved.',
    next: 'Check `proxy_url`, or the variable `http_proxy`.',
  },
} as const satisfies Record<string, ErrorExplanation & { code: number }>

/** Appends the code to a message, and the command that explains it. */
export function appendCode(message: string, code: string | undefined): string {
  return code === undefined ? message : `${message}\n\n${code}\nadit help ${code}`
}
