const CREDENTIAL_HEADERS =
  /^(proxy-)?authorization$|^(set-)?cookie2?$|api-?key|token|secret|password|signature/i

/**
 * Redacts the values of credential headers, for exports that are meant to be shared.
 */
export function redactCredentials(headers: readonly [string, string][]): [string, string][] {
  return headers.map(([name, value]) => [name, CREDENTIAL_HEADERS.test(name) ? '[redacted]' : value])
}
