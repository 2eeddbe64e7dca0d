import { Resolver } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type ConnectionOptions, connect as connectTls, type TLSSocket } from 'node:tls'
import { ConfigError } from '../config/error.ts'
import type { ServerLocation } from './location.ts'
import { serverName } from './location.ts'
import { openThroughProxy, type ProxyServer } from './proxy.ts'

/** How to get to the server, beyond where it is. */
export interface DialSettings {
  timeoutMs: number
  proxy: ProxyServer | undefined
  /** Name servers to ask instead of the system's. */
  resolvers: readonly string[]
  /** Network interface to leave by. */
  interface: string | undefined
  /** PEM or DER list of revoked certificates: a URL or a path. */
  crl: string | undefined
}

/** Connects to the server with TLS; rejects with a sentence that says at which step it failed. */
export async function dialServer(
  location: ServerLocation,
  settings: DialSettings,
  signal?: AbortSignal,
): Promise<TLSSocket> {
  const { host, port } = location
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), settings.timeoutMs)
  const given = () => abort.abort()
  signal?.addEventListener('abort', given)
  const sockets: Socket[] = []
  abort.signal.addEventListener('abort', () => {
    for (const socket of sockets) socket.destroy()
  })
  try {
    const proxy = settings.proxy
    let socket = await connect(proxy?.host ?? host, proxy?.port ?? port, settings, sockets)
    if (proxy) {
      if (proxy.tls)
        socket = await secure(socket, { ...(serverName(proxy.host) ? { servername: proxy.host } : {}) })
      await openThroughProxy(socket, proxy, host, port)
    }
    const name = serverName(host)
    const crl = settings.crl === undefined ? undefined : await readCrl(settings.crl, abort.signal)
    return await secure(socket, {
      host, // Addresses are checked against the certificate as well.
      ...(name === undefined ? {} : { servername: name }),
      ...(location.cas === undefined ? {} : { ca: location.cas }),
      ...(crl === undefined ? {} : { crl }),
      minVersion: 'TLSv1.2',
    })
  } catch (error) {
    for (const socket of sockets) socket.destroy()
    if (abort.signal.aborted)
      throw new Error(`${host}:${port} did not answer within ${settings.timeoutMs / 1000} s`)
    throw explain(error as NodeJS.ErrnoException, host, port)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', given)
  }
}

async function connect(
  host: string,
  port: number,
  settings: DialSettings,
  sockets: Socket[],
): Promise<Socket> {
  const target = settings.resolvers.length > 0 ? await resolve(host, settings.resolvers) : host
  const localAddress = settings.interface === undefined ? undefined : addressOfInterface(settings.interface)
  return new Promise((done, failed) => {
    const socket = connectTcp({
      host: target,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
      ...(localAddress === undefined ? {} : { localAddress, family: isIP(localAddress) }),
    })
    sockets.push(socket)
    socket.once('error', failed)
    socket.once('close', () => failed(new Error('The connection was closed.')))
    socket.once('connect', () => done(socket))
  })
}

function secure(socket: Socket, options: ConnectionOptions): Promise<TLSSocket> {
  return new Promise((done, failed) => {
    const secured = connectTls({ ...options, socket })
    secured.once('error', failed)
    secured.once('close', () => failed(new Error('The connection was closed during the TLS handshake.')))
    secured.once('secureConnect', () => {
      secured.off('error', failed)
      done(secured)
    })
  })
}

async function resolve(host: string, servers: readonly string[]): Promise<string> {
  if (isIP(host)) return host
  const resolver = new Resolver({ timeout: 3000, tries: 2 })
  resolver.setServers(servers)
  const [v4, v6] = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
  const [address] = [
    ...(v4.status === 'fulfilled' ? v4.value : []),
    ...(v6.status === 'fulfilled' ? v6.value : []),
  ]
  if (address !== undefined) return address
  throw v4.status === 'rejected' ? v4.reason : new Error(`${host} has no address`)
}

function addressOfInterface(name: string): string {
  const addresses = networkInterfaces()[name]
  const [address] = addresses?.filter(({ family }) => family === 'IPv4') ?? addresses ?? []
  if (!address) {
    throw new ConfigError([
      `there is no network interface "${name}"; connect_interface may be ${Object.keys(networkInterfaces()).join(', ')}`,
    ])
  }
  return address.address
}

async function readCrl(place: string, signal: AbortSignal): Promise<Buffer | string> {
  if (!/^https?:/.test(place)) return readFileSync(place)
  const response = await fetch(place, { signal })
  if (!response.ok) throw new Error(`the revocation list ${place} answered ${response.status}`)
  const bytes = Buffer.from(await response.arrayBuffer())
  if (bytes.includes('-----BEGIN')) return bytes
  return `-----BEGIN X509 CRL-----\n${bytes.toString('base64').replace(/(.{64})/g, '$1\n')}\n-----END X509 CRL-----\n`
}

/** The server's certificate is not one we may trust: trying again will not help. */
export class UntrustedServer extends Error {
  override name = 'UntrustedServer'
}

const UNTRUSTED = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'CERT_SIGNATURE_FAILURE',
  'CERT_REVOKED',
])

function explain(error: NodeJS.ErrnoException, host: string, port: number): Error {
  const place = `${host}:${port}`
  if (UNTRUSTED.has(error.code ?? '')) {
    return new UntrustedServer(
      `The certificate of ${place} is not trusted: ${error.message}.\nGive the authority of the server with --root-cas FILE or the key connect_cas.`,
      { cause: error },
    )
  }
  switch (error.code) {
    case 'ECONNREFUSED':
      return new Error(`nothing listens at ${place} (connection refused); is the server running?`, {
        cause: error,
      })
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new Error(`the name ${host} cannot be resolved`, { cause: error })
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
      return new Error(`${place} does not speak TLS; is it the address for agents?`, { cause: error })
    default:
      return error
  }
}
