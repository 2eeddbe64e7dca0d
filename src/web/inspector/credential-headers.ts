const CREDENTIAL_HEADERS =
  /^(proxy-)?authorization$|^(set-)?cookie2?$|api-?key|token|secret|password|signature/i

/**
 * Headers for something that is made to be given away: those that prove who somebody is say only that they were there.
 */
export function withoutCredentials(headers: readonly [string, string][]): [string, string][] {
  return headers.map(([name, value]) => [name, CREDENTIAL_HEADERS.test(name) ? '[redacted]' : value])
}
