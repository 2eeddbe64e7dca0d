import { SpecError } from './spec-error.ts'

/** A requested public URL in its parts; without a host the server chooses one. */
export interface PublicUrl {
  scheme: 'http' | 'https' | 'tcp' | 'tls'
  /** False when the URL has no scheme. */
  hasScheme: boolean
  /** With the port, unless it is the default of the scheme. */
  host: string | undefined
  /** `host:port`, for tcp only. */
  hostport: string | undefined
}

/** Parses the forms of an endpoint's URL: an origin, a bare domain, a bare scheme, or nothing. */
export function parsePublicUrl(url: string, defaultScheme: 'http' | 'https' = 'https'): PublicUrl {
  const text = url.trim()
  if (text === '') return { scheme: defaultScheme, hasScheme: false, host: undefined, hostport: undefined }
  const match = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(.*)$/i.exec(text)!
  const hasScheme = match[1] !== undefined
  const scheme = (match[1] ?? defaultScheme).toLowerCase()
  if (scheme !== 'http' && scheme !== 'https' && scheme !== 'tcp' && scheme !== 'tls') {
    throw new SpecError('url', `the url scheme ${scheme}:// is not supported; use https, http, tcp or tls`)
  }
  const rest = match[2]!
  if (rest === '') return { scheme, hasScheme, host: undefined, hostport: undefined }
  if (/[/?#]/.test(rest)) throw new SpecError('url', `the url "${url}" must not have a path, not even "/"`)
  const authority = /^([^:@\s]+|\[[0-9a-f:.]+\])(?::(\d{1,5}))?$/i.exec(rest)
  if (!authority)
    throw new SpecError('url', `the url "${url}" must be an origin such as https://app.example.com`)
  const [, host, port] = authority
  if (scheme === 'tcp') {
    if (port === undefined)
      throw new SpecError('url', `the url "${url}" needs a port; use just "tcp://" for any address`)
    return { scheme, hasScheme, host, hostport: rest }
  }
  // The server knows its ports: a URL that it printed is accepted, and a port that it does not serve rejected there.
  const isDefault = port === (scheme === 'http' ? '80' : '443')
  return { scheme, hasScheme, host: isDefault ? host : rest, hostport: undefined }
}
