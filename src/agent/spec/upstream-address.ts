import { statSync } from 'node:fs'
import { isIP } from 'node:net'
import { isAbsolute } from 'node:path'
import { fileURLToPath } from 'node:url'

/**
 * The upstream of a tunnel, parsed from the short forms users type. It is part of `ResumeState`, so field names must
 * not change.
 */
export interface UpstreamAddress {
  kind: 'tcp' | 'unix' | 'directory'
  /** True when the agent connects to the upstream with TLS. */
  tls: boolean
  host: string
  port: number
  /** The socket path of a `unix` upstream, the root of a `directory`. */
  path: string
  /** The address as the local API and the screen show it. */
  text: string
  /** `host[:port]` for the Host header, used by `host_header: rewrite`. */
  authority: string
}

/** Thrown for an invalid upstream address. */
export class AddressError extends Error {
  override name = 'AddressError'
}

type Kind = 'http' | 'tcp' | 'tls'

// Container names contain underscores; host names on local networks contain any letter.
const HOST_NAME = /^[\p{L}\p{N}_]([\p{L}\p{N}\p{M}._-]*[\p{L}\p{N}\p{M}_.])?$/u

const DEFAULT_PORTS: Record<string, number> = { http: 80, https: 443, tls: 443 }

/**
 * Parses an address: a port, `host:port`, a URL, `unix:/path` or, for http, `file:///dir`. A bare port means this
 * machine; http uses TLS for port 443 unless the address says otherwise.
 */
export function parseUpstream(address: string, kind: Kind): UpstreamAddress {
  const text = address.trim()
  if (text === '')
    throw new AddressError('the address of the local service is empty; give a port or host:port')
  if (text.startsWith('file:')) return parseDirectory(text, kind)
  if (text.startsWith('unix:')) return parseUnixSocket(text)

  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase()
  if (scheme !== undefined && !['http', 'https', 'tcp', 'tls'].includes(scheme)) {
    throw new AddressError(
      `the scheme ${scheme}:// is not supported; use http, https, tcp, tls, unix or file`,
    )
  }
  const rest = scheme === undefined ? text : text.slice(scheme.length + 3).replace(/\/$/, '')
  if (/[/?#@\s]/.test(rest)) {
    throw new AddressError(`"${address}" must be a port, host:port or origin, without path or user name`)
  }
  const { host, port } = parseHostAndPort(
    rest,
    address,
    scheme === undefined ? undefined : DEFAULT_PORTS[scheme],
    kind,
  )
  const tls =
    scheme === 'https' ||
    (scheme === 'tls' && kind !== 'tls') ||
    (scheme === undefined && kind === 'http' && port === 443)
  const bracketed = host.includes(':') ? `[${host}]` : host
  const hostport = `${bracketed}:${port}`
  const defaultPort = tls ? 443 : 80
  return {
    kind: 'tcp',
    tls,
    host,
    port,
    path: '',
    text: formatAddress(kind, tls, hostport, port),
    authority: port === defaultPort ? bracketed : hostport,
  }
}

/** The form the local API returns; clients compare it. */
function formatAddress(kind: Kind, tls: boolean, hostport: string, port: number): string {
  if (kind === 'http') return `${tls ? 'https' : 'http'}://${hostport}`
  if (kind === 'tls' && port === 443) return `tls://${hostport}`
  return tls ? `tls://${hostport}` : hostport
}

function parseHostAndPort(text: string, address: string, fallback: number | undefined, kind: Kind) {
  if (/^\d+$/.test(text)) return { host: 'localhost', port: parsePort(text, address) }
  const match = /^(?:\[([0-9a-f:.%]+)\]|([^:[\]]+))(?::(\d+))?$/i.exec(text)
  if (!match) {
    throw new AddressError(`"${address}" is not an address; use a port, host:port, or [ipv6]:port`)
  }
  const host = match[1] ?? match[2]!
  // Digits and dots alone are an IPv4 address or a typo, such as 80.5.
  if (match[2] !== undefined && (!HOST_NAME.test(host) || (/^[\d.]+$/.test(host) && isIP(host) === 0))) {
    throw new AddressError(`"${address}" does not name a host; use a port, host:port, or [ipv6]:port`)
  }
  if (match[3] !== undefined) return { host, port: parsePort(match[3], address) }
  if (fallback !== undefined) return { host, port: fallback }
  if (kind === 'http') return { host, port: 80 }
  throw new AddressError(`"${address}" needs a port, for example ${host}:22`)
}

function parsePort(digits: string, address: string): number {
  const port = Number(digits)
  if (port < 1 || port > 65535)
    throw new AddressError(`"${address}": the port must be a number from 1 to 65535`)
  return port
}

function parseDirectory(text: string, kind: Kind): UpstreamAddress {
  if (kind !== 'http') throw new AddressError('a file:// address can only be served over http')
  let path: string
  try {
    path = fileURLToPath(text)
  } catch {
    path = ''
  }
  if (!isAbsolute(path) || !/^file:\/\/\//.test(text)) {
    throw new AddressError(`"${text}" must name an absolute directory, for example file:///var/www`)
  }
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new AddressError(`there is no directory ${path}; create it, or name another one`)
  return { kind: 'directory', tls: false, host: '', port: 0, path, text, authority: 'localhost' }
}

function parseUnixSocket(text: string): UpstreamAddress {
  const path = text.slice('unix:'.length).replace(/^\/\/(?=\/)/, '')
  if (!isAbsolute(path))
    throw new AddressError(`"${text}" must name an absolute socket path, for example unix:/run/app.sock`)
  return { kind: 'unix', tls: false, host: '', port: 0, path, text, authority: 'localhost' }
}
