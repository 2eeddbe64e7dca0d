import { lookup, Resolver } from 'node:dns/promises'
import { readFileSync } from 'node:fs'
import { connect as connectTcp, isIP, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { type ConnectionOptions, checkServerIdentity, connect as connectTls, type TLSSocket } from 'node:tls'
import { describeFileError } from '../../base/text/file-error.ts'
import { describeNetworkError } from '../../base/text/network-error.ts'
import { hideUrlSecrets } from '../../base/text/url-secrets.ts'
import { isWithin } from '../../base/values/domain.ts'
import { isHostName, joinHostPort } from '../../base/values/hostport.ts'
import { isLocalDomain } from '../../base/values/local-domain.ts'
import { ConfigError } from '../config/error.ts'
import type { Address, ServerLocation } from './location.ts'
import { toServerName } from './location.ts'
import { openThroughProxy, type ProxyServer } from './proxy.ts'

/** How to reach the server, beyond its address. */
export interface DialSettings {
  timeoutMs: number
  proxy: ProxyServer | undefined
  /** Exempts servers from the proxy. */
  bypassesProxy?: ((location: ServerLocation) => boolean) | undefined
  /** Name servers to use instead of the system's. */
  resolvers: readonly string[]
  /** Network interface to connect from. */
  interface: string | undefined
  /** Restricts connections to one address family. */
  family?: 4 | 6 | undefined
  /** Certificate revocation list in PEM or DER: a URL or a path. */
  crl: string | undefined
}

/** The peer of the current step, the proxy or the server, and how its errors read. */
interface Peer {
  host: string
  port: number
  /** Addresses of the host, in the order to try. */
  addresses?: readonly string[] | undefined
  label: string
  /** What to say when the peer is no gateway for agents. */
  notForAgents?: string
  explain(error: NodeJS.ErrnoException): Error
}

/** The current step of a dial. */
interface Hop {
  peer: Peer
  inTlsHandshake?: boolean
}

/** The proxy for this server, if any. */
export function proxyOf(location: ServerLocation, settings: DialSettings): ProxyServer | undefined {
  return settings.bypassesProxy?.(location) ? undefined : settings.proxy
}

/** Connects to the server with TLS; the error names the failed step and the peer. */
export async function dialServer(
  location: ServerLocation,
  settings: DialSettings,
  signal?: AbortSignal,
): Promise<TLSSocket> {
  const { host, port } = location
  const proxy = proxyOf(location, settings)
  const hop: Hop = { peer: firstPeer(location, settings) }
  return withTimeout(settings, signal, hop, async (sockets, abort) => {
    let socket = await connectPeer(hop.peer, settings, sockets, abort)
    if (proxy) {
      if (proxy.tls)
        socket = await startTls(socket, { ...(toServerName(proxy.host) ? { servername: proxy.host } : {}) })
      await openThroughProxy(socket, proxy, host, port)
      hop.peer = serverPeer(location)
    }
    const crl = settings.crl === undefined ? undefined : await readCrl(settings.crl, abort)
    const name = location.announcedUnder ?? toServerName(host)
    hop.inTlsHandshake = true
    return startTls(socket, {
      host, // IP addresses are checked against the certificate as well.
      ...(name === undefined ? {} : { servername: name }),
      checkServerIdentity: (checked, certificate) =>
        checkServerIdentity(checked, certificate) && checkServerIdentity(host, certificate),
      ...(location.cas === undefined ? {} : { ca: location.cas }),
      ...(crl === undefined ? {} : { crl }),
      minVersion: 'TLSv1.2',
    })
  })
}

/** Opens and closes a TCP connection to the first hop, the proxy or the server. */
export async function probeFirstHop(location: ServerLocation, settings: DialSettings): Promise<void> {
  const peer = firstPeer(location, settings)
  await withTimeout(settings, undefined, { peer }, async (sockets, abort) => {
    const socket = await connectPeer(peer, settings, sockets, abort)
    socket.destroy()
  })
}

function firstPeer(location: ServerLocation, settings: DialSettings): Peer {
  const proxy = proxyOf(location, settings)
  return proxy ? proxyPeer(proxy) : serverPeer(location)
}

/** Runs `work` within the timeout; destroys its sockets when it fails or times out. */
async function withTimeout<T>(
  settings: DialSettings,
  signal: AbortSignal | undefined,
  hop: Readonly<Hop>,
  work: (sockets: Socket[], abort: AbortSignal) => Promise<T>,
): Promise<T> {
  const abort = new AbortController()
  const timer = setTimeout(() => abort.abort(), settings.timeoutMs)
  const onAbort = () => abort.abort()
  signal?.addEventListener('abort', onAbort)
  const sockets: Socket[] = []
  abort.signal.addEventListener('abort', () => {
    for (const socket of sockets) socket.destroy()
  })
  try {
    // A DNS lookup cannot be aborted and must not delay the timeout.
    return await Promise.race([work(sockets, abort.signal), rejectOnAbort(abort.signal)])
  } catch (error) {
    for (const socket of sockets) socket.destroy()
    if (abort.signal.aborted) {
      const { label } = hop.peer
      const seconds = settings.timeoutMs / 1000
      throw new Error(
        hop.inTlsHandshake
          ? `${label} accepted the connection but did not answer with TLS within ${seconds} s; ${hop.peer.notForAgents ?? NOT_FOR_AGENTS}`
          : `${label} did not answer within ${seconds} s`,
        { cause: error },
      )
    }
    throw hop.peer.explain(error as NodeJS.ErrnoException)
  } finally {
    clearTimeout(timer)
    signal?.removeEventListener('abort', onAbort)
  }
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

async function connectPeer(
  peer: Peer,
  settings: DialSettings,
  sockets: Socket[],
  abort: AbortSignal,
): Promise<Socket> {
  const { host, port } = peer
  const localAddress = settings.interface === undefined ? undefined : resolveInterface(settings.interface)
  const family = localAddress === undefined ? settings.family : (isIP(localAddress) as 4 | 6)
  const addresses = peer.addresses ?? (await resolveAll(host, { ...settings, family }))
  abort.throwIfAborted()
  const resolved = addresses.map((address) => ({ address, family: isIP(address) }))
  const candidates = resolved.filter((each) => family === undefined || each.family === family)
  const [first] = candidates
  if (first === undefined) throw new Error(`${host} has no IPv${family} address`)
  return new Promise((resolve, reject) => {
    const socket = connectTcp({
      host,
      port,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: 30_000,
      // Node falls back to the next address when one does not accept the connection.
      lookup: (_host, { all }, callback) =>
        all ? callback(null, candidates) : callback(null, first.address, first.family),
      ...(localAddress === undefined ? {} : { localAddress }),
      ...(family === undefined ? {} : { family }),
    })
    sockets.push(socket)
    socket.once('error', reject)
    socket.once('close', () => reject(new Error('The connection was closed.')))
    socket.once('connect', () => resolve(socket))
  })
}

/** An untrusted certificate, with the names that it is for. */
interface CertificateError extends NodeJS.ErrnoException {
  certificateNames?: readonly string[]
}

function startTls(socket: Socket, options: ConnectionOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    // Checked below, where the certificate can still be read.
    const tlsSocket = connectTls({ ...options, socket, rejectUnauthorized: false })
    tlsSocket.once('error', reject)
    tlsSocket.once('close', () => reject(new Error('The connection was closed during the TLS handshake.')))
    tlsSocket.once('secureConnect', () => {
      if (!tlsSocket.authorized) {
        const code = String(tlsSocket.authorizationError)
        const { subjectaltname = '' } = tlsSocket.getPeerCertificate()
        const certificateNames = [...subjectaltname.matchAll(/DNS:([^",\s]+)/g)].map(([, name = '']) => name)
        tlsSocket.destroy(
          Object.assign(new Error(code), { code, certificateNames } satisfies Partial<CertificateError>),
        )
        return
      }
      tlsSocket.off('error', reject)
      resolve(tlsSocket)
    })
  })
}

/** All addresses of a host, from the configured name servers and of the configured family. */
export async function resolveAll(
  host: string,
  { resolvers, family }: Pick<DialSettings, 'resolvers' | 'family'>,
): Promise<string[]> {
  if (isIP(host)) return [host]
  if (resolvers.length === 0) {
    const records = await lookup(host, { family: family ?? 0, all: true })
    return records.map(({ address }) => address)
  }
  const resolver = new Resolver({ timeout: 3000, tries: 2 })
  resolver.setServers(resolvers)
  const [v4, v6] = await Promise.allSettled([
    family === 6 ? [] : resolver.resolve4(host),
    family === 4 ? [] : resolver.resolve6(host),
  ])
  const addresses = [v4, v6].flatMap((result) => (result.status === 'fulfilled' ? result.value : []))
  if (addresses.length > 0) return addresses
  throw v4.status === 'rejected' ? v4.reason : new Error(`${host} has no address`)
}

/** The address of a network interface to connect from. */
export function resolveInterface(name: string): string {
  const addresses = networkInterfaces()[name]
  const [address] = addresses?.filter(({ family }) => family === 'IPv4') ?? addresses ?? []
  if (!address) {
    throw new ConfigError([
      `there is no network interface "${name}"; connect_interface may be ${Object.keys(networkInterfaces()).join(', ')}`,
    ])
  }
  return address.address
}

/** Throws `ConfigError` if `crl_url` is a file that cannot be read; a URL is fetched when the agent connects. */
export function checkCrlFile(source: string): void {
  if (isRemoteCrl(source)) return
  try {
    readFileSync(source)
  } catch (error) {
    throw new ConfigError([crlMessage(source, describeFileError(error))])
  }
}

const isRemoteCrl = (source: string) => /^https?:/.test(source)

const crlMessage = (source: string, detail: string) =>
  `cannot read the certificate revocation list ${source}: ${detail}; correct crl_url, or set crl_noverify to skip the check`

async function readCrl(source: string, signal: AbortSignal): Promise<Buffer | string> {
  const remote = isRemoteCrl(source)
  let bytes: Buffer
  try {
    bytes = remote ? await fetchBytes(source, signal) : readFileSync(source)
  } catch (error) {
    const detail = remote ? describeNetworkError(error) : describeFileError(error)
    const message = crlMessage(source, detail)
    // The detail may quote the URL as well.
    throw new Error(remote ? message.replaceAll(source, hideUrlSecrets(source)) : message, { cause: error })
  }
  if (bytes.includes('-----BEGIN')) return bytes
  return `-----BEGIN X509 CRL-----\n${bytes.toString('base64').replace(/(.{64})/g, '$1\n')}\n-----END X509 CRL-----\n`
}

async function fetchBytes(url: string, signal: AbortSignal): Promise<Buffer> {
  const response = await fetch(url, { signal })
  if (!response.ok) throw new Error(`it answered ${response.status}`)
  return Buffer.from(await response.arrayBuffer())
}

/** The server's certificate is not trusted; retrying does not help. */
export class UntrustedServer extends Error {
  override name = 'UntrustedServer'
}

const UNTRUSTED_CODES = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'CERT_HAS_EXPIRED',
  'CERT_NOT_YET_VALID',
  'CERT_SIGNATURE_FAILURE',
  'CERT_REVOKED',
])

function serverPeer({ host, port, addresses, localAgentAddr }: ServerLocation): Peer {
  const label = joinHostPort(host, port)
  const notForAgents =
    localAgentAddr === undefined
      ? NOT_FOR_AGENTS
      : `agents connect to ${localAgentAddr} (save it with: adit config add-connect-url ${localAgentAddr})`
  const explain = (error: NodeJS.ErrnoException) => explainServer(error, { host, port }, label, notForAgents)
  return { host, port, addresses, label, notForAgents, explain }
}

const NOT_FOR_AGENTS =
  'it is not the address for agents, which the server prints as "Agents" (save it with: adit config add-connect-url HOST:PORT)'

const UNTRUSTED_REASONS: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'it has expired',
  CERT_NOT_YET_VALID: 'it is not valid yet',
  CERT_REVOKED: 'it was revoked',
  CERT_SIGNATURE_FAILURE: 'its signature is invalid',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'it is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'its authority is unknown to this machine',
}

/** Why a certificate is not trusted, in place of the text of the TLS library. */
function describeUntrusted({ code = '', message }: NodeJS.ErrnoException, host: string): string {
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') return `it is not valid for ${host}`
  if (code.startsWith('UNABLE_TO_')) return 'its authority is unknown to this machine'
  return UNTRUSTED_REASONS[code] ?? message
}

/** What to do about a certificate that is not trusted. */
function adviseUntrusted(
  { code = '', certificateNames = [] }: CertificateError,
  { host, port }: Address,
): string {
  if (code !== 'CERT_HAS_EXPIRED' && code !== 'CERT_NOT_YET_VALID') {
    const nameAuthority =
      'Set the authority of the server with --root-cas FILE or the key connect_cas; a server without a public certificate keeps it as ca.pem in its data directory.'
    const name = findAgentName(certificateNames, host)
    return name === undefined
      ? nameAuthority
      : `It is a certificate for ${name}. If that is your server, use this name: adit config add-connect-url ${joinHostPort(name, port)}\n${nameAuthority}`
  }
  const today = new Date().toISOString().slice(0, 10)
  return `If today is not ${today}, set the clock of this machine, for example with: timedatectl set-ntp true\nOtherwise check the certificate on the server with: adit server certs`
}

/**
 * The name under which agents find the public certificate of a server (decision 61), when they have dialled another one.
 * A certificate that is not trusted may be anyone's, so people decide whether the name is theirs.
 */
function findAgentName(names: readonly string[], dialled: string): string | undefined {
  const domain = names
    .map((name) => /^(?:connect|\*)\.(.+)$/.exec(name.toLowerCase())?.[1])
    .find((name) => name !== undefined && isHostName(name))
  if (domain === undefined || isLocalDomain(domain) || isWithin(dialled, domain)) return undefined
  return `connect.${domain}`
}

function explainServer(
  error: CertificateError,
  { host, port }: Address,
  label: string,
  notForAgents: string,
): Error {
  if (UNTRUSTED_CODES.has(error.code ?? '')) {
    return new UntrustedServer(
      `The certificate of ${label} is not trusted: ${describeUntrusted(error, host)}.\n${adviseUntrusted(error, { host, port })}`,
      { cause: error },
    )
  }
  switch (error.code) {
    case 'ECONNREFUSED':
      return new Error(
        `nothing listens at ${label} (connection refused); is the server running? Test each step with: adit diagnose`,
        { cause: error },
      )
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new Error(`the name ${host} cannot be resolved; check it with: adit diagnose`, { cause: error })
    case 'EPROTO':
    case 'ERR_SSL_WRONG_VERSION_NUMBER':
    case 'ERR_SSL_PACKET_LENGTH_TOO_LONG':
      return new Error(`${label} does not speak TLS (an HTTP port?); ${notForAgents}`, { cause: error })
    default:
      // The text of the TLS library names its source files.
      return error.code?.startsWith('ERR_SSL_')
        ? new Error(`${label} refused the TLS handshake; ${notForAgents}`, { cause: error })
        : error
  }
}

/** Until the proxy has connected to the server, errors are the proxy's, not the server's. */
function proxyPeer({ host, port }: ProxyServer): Peer {
  const label = `the proxy ${joinHostPort(host, port)}`
  return { host, port, label, explain: (error) => explainProxy(error, host, label) }
}

function explainProxy(error: NodeJS.ErrnoException, host: string, label: string): Error {
  if (error instanceof ConfigError) return error
  if (UNTRUSTED_CODES.has(error.code ?? '')) {
    return new UntrustedServer(
      `The certificate of ${label} is not trusted: ${describeUntrusted(error, host)}.\nSet NODE_EXTRA_CA_CERTS to a PEM file with its authority.`,
      { cause: error },
    )
  }
  const notTls = error.code === 'EPROTO' || error.code?.startsWith('ERR_SSL_')
  const detail = notTls ? 'it does not speak TLS' : describeNetworkError(error)
  return new Error(`${label} cannot be used: ${detail}; check proxy_url, or the variable http_proxy`, {
    cause: error,
  })
}
