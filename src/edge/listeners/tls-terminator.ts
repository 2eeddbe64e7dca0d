import { constants, type X509Certificate } from 'node:crypto'
import type { Socket } from 'node:net'
import { createSecureContext, createServer, type SecureContext, type Server, type TLSSocket } from 'node:tls'
import { readEnds, type SocketEnds } from '../../base/io/socket-ends.ts'
import type { Secret } from '../../base/secret.ts'
import type { PeerCertificate, TlsInfo } from '../connection.ts'
import type { TlsPolicy } from './tls-policy.ts'

/** A certificate chain with its key. */
export interface ServerCertificate {
  readonly certificatePem: string
  readonly privateKeyPem: Secret
}

/** The certificate for a host name, as good as there is at the moment; the same object until it is replaced. */
export type CertificateLookup = (
  serverName: string,
) => ServerCertificate | undefined | Promise<ServerCertificate | undefined>

/** Called with a socket whose handshake succeeded, and what the handshake agreed on. */
export type OnSecure = (socket: TLSSocket, info: TlsInfo) => void

/** AES-128 first: it is the fastest where the processor helps, and as safe here. Forward secrecy and AEAD only (P32). */
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
 * What versions below 1.2 need besides: ciphers they know, still with forward secrecy, and the security level below which
 * OpenSSL refuses their signatures. Only policies whose owners ask for such a version have it.
 */
const LEGACY_CIPHERS = `${CIPHERS}:ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA:ECDHE-ECDSA-AES256-SHA:ECDHE-RSA-AES256-SHA:@SECLEVEL=0`

const { SSL_OP_NO_RENEGOTIATION, SSL_OP_NO_TICKET } = constants

/**
 * Terminates TLS for one policy with a server object of its own, since session tickets made by one are good for every
 * name behind it (P34).
 */
export class TlsTerminator {
  readonly #policy: TlsPolicy
  readonly #server: Server
  /** The context of a policy with a certificate of its own. */
  readonly #policyContext: SecureContext | undefined
  readonly #contexts = new WeakMap<ServerCertificate, SecureContext>()
  readonly #pendingHandshakes = new Map<string, OnSecure>()

  constructor(policy: TlsPolicy, certificates: CertificateLookup, handshakeTimeout: number) {
    this.#policy = policy
    const { clientAuthorities, certificate, http } = policy.settings
    if (certificate !== undefined) {
      const { certificatePem: cert, privateKeyPem: key } = certificate
      this.#policyContext = createSecureContext({ ...this.#contextOptions(), cert, key })
    }
    this.#server = createServer({
      ...this.#contextOptions(),
      // HTTP/2 is not for old versions (RFC 9113 section 9.2).
      ...(http ? { ALPNProtocols: this.#allowsLegacyTls ? ['http/1.1'] : ['h2', 'http/1.1'] } : {}),
      requestCert: clientAuthorities !== undefined,
      rejectUnauthorized: true,
      handshakeTimeout,
      SNICallback: (name, callback) => {
        this.#context(name, certificates).then(
          (contextFor) => callback(null, contextFor),
          (error) => callback(error),
        )
      },
    })
    this.#server.on('secureConnection', (socket) => {
      socket.on('error', () => {})
      const onSecure = this.#takeCallback(socket)
      // Read here and nowhere else: Node asks OpenSSL for them, and to ask for a connection that has closed meanwhile
      // ends the process.
      const info = this.#readTlsInfo(socket)
      // Node says this from inside of OpenSSL. Whoever ended the connection right there would take away what OpenSSL
      // returns to, and the process would die of it.
      setImmediate(() => {
        if (socket.destroyed) return
        if (onSecure === undefined || info === undefined) socket.destroy()
        else onSecure(socket, info)
      })
    })
    this.#server.on('tlsClientError', (_error, socket) => socket.destroy())
    this.#server.on('error', () => {})
  }

  /** Takes over a paused socket whose first bytes were put back; `onSecure` is called if the handshake succeeds. */
  accept(transport: Socket, ends: SocketEnds, onSecure: OnSecure): void {
    const key = socketKey(ends)
    this.#pendingHandshakes.set(key, onSecure)
    transport.on('close', () => this.#pendingHandshakes.delete(key))
    this.#server.emit('connection', transport)
  }

  #takeCallback(socket: TLSSocket): OnSecure | undefined {
    const ends = readEnds(socket)
    if (ends === undefined) return undefined
    const key = socketKey(ends)
    const onSecure = this.#pendingHandshakes.get(key)
    this.#pendingHandshakes.delete(key)
    return onSecure
  }

  /** What the handshake agreed on; undefined when it lacks a certificate that the policy demands. */
  #readTlsInfo(socket: TLSSocket): TlsInfo | undefined {
    const required = this.#policy.settings.clientAuthorities !== undefined
    const certificate = required ? socket.getPeerX509Certificate() : undefined
    // A certificate that was asked for must be there: a flag alone has been wrong before (P34).
    if (required && (certificate === undefined || !socket.authorized || socket.isSessionReused()))
      return undefined
    return {
      version: socket.getProtocol() ?? '',
      cipher: socket.getCipher().standardName,
      alpn: socket.alpnProtocol || undefined,
      peer: certificate && toPeerCertificate(certificate),
    }
  }

  async #context(name: string, certificates: CertificateLookup): Promise<SecureContext | undefined> {
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

  /** Client certificates are never judged at the security level that old versions need. */
  get #allowsLegacyTls(): boolean {
    const { minVersion, clientAuthorities } = this.#policy.settings
    return clientAuthorities === undefined && (minVersion === 'TLSv1' || minVersion === 'TLSv1.1')
  }

  #contextOptions() {
    const { minVersion, clientAuthorities } = this.#policy.settings
    return {
      minVersion: this.#allowsLegacyTls || minVersion === 'TLSv1.3' ? minVersion : ('TLSv1.2' as const),
      ciphers: this.#allowsLegacyTls ? LEGACY_CIPHERS : CIPHERS,
      honorCipherOrder: true,
      // A handshake costs us many times what it costs the client: one for each connection (TLS 1.2 allows more).
      secureOptions: SSL_OP_NO_RENEGOTIATION,
      // Both the server and the context chosen by name need it; a context without would trust the system's roots.
      // Without tickets: a connection that must show a certificate shows it every time (P34).
      ...(clientAuthorities === undefined
        ? {}
        : { ca: [...clientAuthorities], secureOptions: SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET }),
    }
  }
}

/** Both ends of a connection, by which the TLS socket is matched with the transport it was made for. */
function socketKey({ remoteAddress, remotePort, localAddress, localPort }: SocketEnds): string {
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
  }
}

/** Kind and name; one that holds a comma or the like is written as a JSON string, so that it cannot pass for several. */
const ALTERNATIVE_NAME = /(?:^|, )([A-Za-z ]+):("(?:[^"\\]|\\.)*"|[^,]*)/g

/** The names of one kind in the text form that Node gives to a subject's alternative names. */
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
    // A certificate must never end a connection by an exception (P12); a name that cannot be read is none.
    return ''
  }
}
