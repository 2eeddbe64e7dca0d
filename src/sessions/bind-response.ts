/** The least an SDK must find in the options of an answer, even of a refusal. */
const MINIMAL_OPTS: Record<string, object> = {
  http: { Hostname: '', Auth: '', Subdomain: '', HostHeaderRewrite: false, ProxyProto: 0 },
  https: { Hostname: '', Auth: '', Subdomain: '', HostHeaderRewrite: false, ProxyProto: 0 },
  tcp: { Addr: '', ProxyProto: 0 },
  tls: { Hostname: '', Subdomain: '', ProxyProto: 0, MutualTLSAtAgent: false },
}

/**
 * The options for the answer to a Bind: those of the request, with the address it was given. An SDK sends them back
 * as they are when it binds again, and so asks for the same address.
 */
export function responseOpts(proto: string, requested: unknown, url?: string): object {
  const requestedOpts =
    typeof requested === 'object' && requested !== null ? (requested as Record<string, unknown>) : {}
  const opts = { ...MINIMAL_OPTS[proto], ...requestedOpts }
  const hostport = url?.slice(url.indexOf('://') + 3)
  if (hostport === undefined || requestedOpts.URL) return opts
  return proto === 'tcp' ? { ...opts, Addr: hostport } : { ...opts, Domain: hostport.replace(/:\d+$/, '') }
}
