/** The fields that SDKs require in the options of every response, errors included. */
const MINIMAL_OPTS: Record<string, object> = {
  http: { Hostname: '', Auth: '', Subdomain: '', HostHeaderRewrite: false, ProxyProto: 0 },
  https: { Hostname: '', Auth: '', Subdomain: '', HostHeaderRewrite: false, ProxyProto: 0 },
  tcp: { Addr: '', ProxyProto: 0 },
  tls: { Hostname: '', Subdomain: '', ProxyProto: 0, MutualTLSAtAgent: false },
}

/**
 * The options of a Bind response: those of the request, with the assigned address. SDKs send them back unchanged when
 * they rebind, and so request the same address.
 */
export function responseOpts(proto: string, requested: unknown, url?: string): object {
  const requestedOpts =
    typeof requested === 'object' && requested !== null ? (requested as Record<string, unknown>) : {}
  const opts = { ...MINIMAL_OPTS[proto], ...requestedOpts }
  const hostport = url?.slice(url.indexOf('://') + 3)
  if (hostport === undefined || requestedOpts.URL) return opts
  return proto === 'tcp' ? { ...opts, Addr: hostport } : { ...opts, Domain: hostport.replace(/:\d+$/, '') }
}
