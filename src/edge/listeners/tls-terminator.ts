import { constants, hash, hkdfSync, type X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { createSecureContext, createServer, type SecureContext, type Server, type TLSSocket } from 'node:tls'
import { readAddresses, type SocketAddresses } from '../../base/io/sockets/socket-addresses.ts'
import type { Secret } from '../../base/values/secret.ts'
import type { PeerCertificate, TlsInfo } from '../contracts/connection.ts'
import { requiresClientCertificate, type TlsPolicy } from '../contracts/tls-policy.ts'

/** A certificate chain with its key. */
export interface ServerCertificate {
  readonly certificatePem: string
  readonly privateKeyPem: Secret
}

/** Looks up the certificate of a host name; returns the same object until the certificate is replaced. */
export type CertificateLookup = (
  serverName: string,
) => ServerCertificate | undefined | Promise<ServerCertificate | undefined>

/** The secret of session tickets; another one replaces it from time to time. */
export interface SharedTickets {
  readonly current: Secret<Buffer>
}

/** What every terminator is created with. */
export interface TlsTerminatorOptions {
  readonly certificates: CertificateLookup
  readonly tickets: SharedTickets | undefined
  readonly handshakeTimeout: number
}

/** Node's keys for the name, the encryption and the authentication of a ticket. */
const TICKET_KEY_BYTES = 48

const MAX_SESSION_ID_CONTEXT = 32

/** Called with a socket whose handshake succeeded, and what it negotiated. */
export type OnSecure = (socket: TLSSocket, info: TlsInfo) => void

/** AES-128 first: the fastest with hardware support, and as safe here. Forward secrecy and AEAD only (P32). */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/**
 * Adds what versions below 1.2 need: ciphers they support, still with forward secrecy, and security level 0, without
 * which OpenSSL rejects their signatures. Only policies with such a `min_version` get it (decision 44).
 */
const LEGACY_CIPHERS = `${CIPHERS}:ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA:@SECLEVEL=0`

/** What ALPN offers below TLS 1.2, which HTTP/2 requires (RFC 9113 section 9.2). Clients that want HTTP/1.0 offer nothing else. */
const HTTP1_PROTOCOLS = ['http/1.1', 'http/1.0']

const { SSL_OP_NO_RENEGOTIATION, SSL_OP_NO_TICKET } = constants

/**
 * Terminates TLS for one policy. Each policy has its own server object and ticket keys, since a session ticket is valid for
 * every name of the servers that have its key (P34).
 */
export class TlsTerminator {
  readonly #policy: TlsPolicy
  readonly #server: Server
  /** Set when the policy has its own certificate. */
  readonly #policyContext: SecureContext | undefined
  readonly #contexts = new WeakMap<ServerCertificate, SecureContext>()
  readonly #tickets: SharedTickets | undefined
  /** What the ticket keys were derived from. */
  #ticketSecret: Secret<Buffer> | undefined
  readonly #pendingHandshakes = new Map<string, OnSecure>()

  constructor(policy: TlsPolicy, { certificates, tickets, handshakeTimeout }: TlsTerminatorOptions) {
    this.#policy = policy
    this.#tickets = tickets
    const { clientVerification, certificate, http } = policy.settings
    if (certificate !== undefined) {
      const { certificatePem: cert, privateKeyPem: key } = certificate
      this.#policyContext = createSecureContext({ ...this.#contextOptions(), cert, key })
    }
    this.#server = createServer({
      ...this.#contextOptions(),
      ...(http
        ? { ALPNProtocols: this.#allowsLegacyTls ? HTTP1_PROTOCOLS : ['h2', ...HTTP1_PROTOCOLS] }
        : {}),
      requestCert: this.#requestsCertificate,
      rejectUnauthorized: clientVerification === undefined,
      handshakeTimeout,
      SNICallback: (name, callback) => {
        this.#contextFor(name, certificates).then(
          (context) => callback(null, context),
          (error) => callback(error),
        )
      },
    })
    this.#server.on('secureConnection', (socket) => {
      socket.on('error', () => {})
      socket.allowHalfOpen = true
      const onSecure = this.#takeCallback(socket)
      // Read here and nowhere else: Node queries OpenSSL for it, and a query for a closed connection crashes the process.
      const info = this.#readTlsInfo(socket)
      // Node emits this event from inside an OpenSSL call. Destroying the socket here would free what OpenSSL returns
      // to and crash the process.
      setImmediate(() => {
        if (socket.destroyed) return
        if (onSecure === undefined || info === undefined) socket.destroy()
        else onSecure(socket, info)
      })
    })
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy())
    this.#server.on('error', () => {})
  }

  /** Takes over a paused socket whose first bytes were unshifted; calls `onSecure` when the handshake succeeds. */
  accept(transport: Socket, onSecure: OnSecure): void {
    const addresses = readAddresses(transport)
    if (addresses === undefined) {
      transport.destroy()
      return
    }
    this.#updateTicketKeys()
    const key = socketKey(addresses)
    this.#pendingHandshakes.set(key, onSecure)
    transport.on('close', () => this.#pendingHandshakes.delete(key))
    // A client that leaves during the handshake will not return. The TLS socket takes this over from its transport.
    transport.allowHalfOpen = false
    this.#server.emit('connection', transport)
  }

  /** Tickets of earlier keys are not accepted: their clients make a full handshake. */
  #updateTicketKeys(): void {
    const secret = this.#tickets?.current
    if (secret === undefined || secret === this.#ticketSecret) return
    this.#ticketSecret = secret
    const keys = hkdfSync('sha256', secret.reveal(), '', `tickets ${this.#policy.key}`, TICKET_KEY_BYTES)
    this.#server.setTicketKeys(Buffer.from(keys))
  }

  #takeCallback(socket: TLSSocket): OnSecure | undefined {
    const addresses = readAddresses(socket)
    if (addresses === undefined) return undefined
    const key = socketKey(addresses)
    const onSecure = this.#pendingHandshakes.get(key)
    this.#pendingHandshakes.delete(key)
    return onSecure
  }

  /** What the handshake negotiated; undefined when it lacks a client certificate that the policy requires. */
  #readTlsInfo(socket: TLSSocket): TlsInfo | undefined {
    const { settings } = this.#policy
    const certificate = this.#requestsCertificate ? socket.getPeerX509Certificate() : undefined
    // A required certificate must be present: relying on the `authorized` flag alone is unsafe (P34).
    if (requiresClientCertificate(settings) && certificate === undefined) return undefined
    if (settings.clientVerification === undefined && certificate !== undefined && !socket.authorized)
      return undefined
    if (this.#requestsCertificate && socket.isSessionReused()) return undefined
    return {
      version: socket.getProtocol() ?? '',
      cipher: socket.getCipher().standardName,
      alpn: socket.alpnProtocol || undefined,
      peer: certificate && toPeerCertificate(certificate),
    }
  }

  async #contextFor(name: string, certificates: CertificateLookup): Promise<SecureContext | undefined> {
    if (this.#policyContext !== undefined) return this.#policyContext
    const certificate = await certificates(name.toLowerCase().replace(/\.$/, ''))
    if (certificate === undefined) return undefined
    const cached = this.#contexts.get(certificate)
    if (cached !== undefined) return cached
    const context = createSecureContext({
      ...this.#contextOptions(),
      cert: certificate.certificatePem,
      key: certificate.privateKeyPem.reveal(),
    })
    this.#contexts.set(certificate, context)
    return context
  }

  get #requestsCertificate(): boolean {
    const { clientAuthorities, clientVerification } = this.#policy.settings
    return clientAuthorities !== undefined || clientVerification !== undefined
  }

  /** Client certificates are never verified at the security level that legacy versions need. */
  get #allowsLegacyTls(): boolean {
    const { minVersion } = this.#policy.settings
    return !this.#requestsCertificate && (minVersion === 'TLSv1' || minVersion === 'TLSv1.1')
  }

  #contextOptions() {
    const { minVersion, maxVersion, clientAuthorities = [] } = this.#policy.settings
    return {
      minVersion: this.#allowsLegacyTls || minVersion === 'TLSv1.3' ? minVersion : ('TLSv1.2' as const),
      ...(maxVersion && { maxVersion }),
      ciphers: this.#allowsLegacyTls ? LEGACY_CIPHERS : CIPHERS,
      honorCipherOrder: true,
      // By default of the command line of the process, so that no other one would resume its sessions.
      sessionIdContext: hash('sha256', this.#policy.key).slice(0, MAX_SESSION_ID_CONTEXT),
      // A handshake costs the server many times what it costs the client, so each connection gets one (decision 117).
      secureOptions: SSL_OP_NO_RENEGOTIATION,
      // Both the server and each context by name need `ca`; a context without it would trust the system's roots.
      // No tickets: a client that must present a certificate presents it every time (P34, decision 46).
      ...(this.#requestsCertificate && {
        ca: [...clientAuthorities],
        secureOptions: SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET,
      }),
    }
  }
}

/** Both addresses of a connection, which match the TLS socket with its transport. */
function socketKey({ remoteAddress, remotePort, localAddress, localPort }: SocketAddresses): string {
  return `${remoteAddress} ${remotePort} ${localAddress} ${localPort}`
}

function toPeerCertificate(certificate: X509Certificate): PeerCertificate {
  const legacy = certificate.toLegacyObject()
  const namesOf = parseAlternativeNames(certificate.subjectAltName ?? '')
  const { CN } = legacy.subject
  return {
    commonName: Array.isArray(CN) ? (CN[0] ?? '') : (CN ?? ''),
    dnsNames: namesOf('DNS'),
    emailAddresses: namesOf('email'),
    serialNumber: certificate.serialNumber.toLowerCase(),
    fingerprint: certificate.fingerprint256,
    der: certificate.raw,
  }
}

/** Kind and name; a name with a comma or the like is quoted as a JSON string, so that it cannot pass for several. */
const ALTERNATIVE_NAME = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g

/** Parses Node's text form of a certificate's subject alternative names; the result returns the names of one kind. */
function parseAlternativeNames(text: string): (kind: string) => string[] {
  const names = [...text.matchAll(ALTERNATIVE_NAME)].map(([, kind, name = '']) => ({
    kind,
    name: name.startsWith('"') ? unquote(name) : name,
  }))
  return (kind) => names.filter((one) => one.kind === kind).map(({ name }) => name)
}

function unquote(text: string): string {
  try {
    return String(JSON.parse(text))
  } catch {
    // A certificate must never cause an exception (P12); an unreadable name counts as none.
    return ''
  }
}
