import type { ErrorExplanation } from '../../base/text/error-explanation.ts'

/** The errors of `diagnose`, by the failed step. */
export const diagnosisErrors = {
  resolve: {
    code: 8000,
    cause: 'The name of the server, or `localhost`, cannot be resolved.',
    next: 'Check its spelling in `connect_url`, the name servers of this machine and `dns_resolver_ips`; if you use `-4` or `-6`, try without it.',
  },
  tcp: {
    code: 8002,
    cause:
      'Cannot connect to the server or the proxy over TCP: nothing is listening there, or a firewall blocks it.',
    next: 'Check address and port, and whether the server runs.',
  },
  tls: {
    code: 8003,
    cause:
      'TLS with the server fails: its certificate is not trusted, or the port is not the one for agents.',
    next: 'Set the authority of the server with `connect_cas`, and check the port in `connect_url`; if both are right, the connection is being intercepted.',
  },
  protocol: {
    code: 8004,
    cause: 'The server was reached, but no session was established; the message above the code says why.',
    next: 'Follow the message; errors from the server have their own codes.',
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
