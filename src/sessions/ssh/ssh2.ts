import type { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ByteQueue } from '../../base/io/byte-queue.ts'
import { releasePiece } from '../../base/io/detach-buffer.ts'
import { parseCipherLists } from './cipher-lists.ts'
import { isSecurityKey, verifyDeviceSignature } from './security-key.ts'
import { wire } from './wire.ts'

/**
 * The parts of the `ssh2` package the gateway stands on. Its public server takes neither host certificates nor smaller
 * windows and closes a channel where only one direction ended, so the gateway makes connections and channels itself.
 * Every reach into the package is in this file; the version is pinned, and the tests with OpenSSH hold it to its word.
 */
const requireModule = createRequire(import.meta.url)
const { IncomingClient } = requireModule('ssh2/lib/server.js') as { IncomingClient: IncomingConstructor }
const { KexInit } = requireModule('ssh2/lib/protocol/kex.js') as { KexInit: new (lists: object) => object }
const { bindingAvailable } = requireModule('ssh2/lib/protocol/crypto.js') as { bindingAvailable: boolean }
const { parseKey } = requireModule('ssh2/lib/protocol/keyParser.js') as { parseKey(text: string): unknown }

/** A key the server proves itself with, in the shape the package asks for. */
export interface HostKey {
  /** The algorithm of the signature, which for a certificate is not the name it is negotiated by. */
  readonly type: string
  /** The key, or the certificate around it, in wire form. */
  getPublicSSH(): Buffer
  sign(data: Buffer): Buffer
}

/** One attempt to log in. */
export interface AuthContext {
  readonly method: string
  readonly username: string
  /** Without data when the message was cut short. */
  readonly key?: { readonly algo: string; readonly data?: Buffer | undefined }
  readonly hashAlgo?: string | undefined
  /** Absent while the client only asks whether the key would do. */
  readonly signature?: Buffer | undefined
  /** What was signed. */
  readonly blob?: Buffer | undefined
  /** Lets in after a signature; without one it only says that the key would do. */
  accept(): void
  reject(methodsLeft: string[]): void
}

/** What a client asks to be forwarded. */
export interface ForwardTarget {
  readonly bindAddr: string
  readonly bindPort: number
}

/** The channel of a terminal or command. */
export interface SessionChannel extends Duplex {
  readonly stderr: NodeJS.WritableStream
  exit(status: number): void
}

type Reply = ((value?: number) => void) | undefined

/** A session channel before anything runs in it. */
export interface SessionRequests {
  on(event: 'pty' | 'window-change', listener: (accept: Reply, reject: Reply) => void): this
  on(event: 'shell', listener: (accept: () => SessionChannel | undefined, reject: Reply) => void): this
  on(
    event: 'exec',
    listener: (accept: () => SessionChannel | undefined, reject: Reply, info: { command: string }) => void,
  ): this
  on(event: 'close', listener: () => void): this
}

interface ClientEvents {
  authentication(context: AuthContext): void
  handshake(): void
  rekey(): void
  error(error: Error): void
  close(): void
  request(accept: Reply, reject: Reply, name: string, info: ForwardTarget): void
  session(accept: () => SessionRequests | undefined, reject: () => void): void
}

/** The connection of one client. */
export interface IncomingClient extends EventEmitter {
  on<E extends keyof ClientEvents>(event: E, listener: ClientEvents[E]): this
  /** Says goodbye and half-closes. */
  end(): void
  readonly _protocol: Protocol
}

/** Messages of the connection protocol (RFC 4254), as the package sends and hears them. */
export interface Protocol {
  ping(): void
  forwardedTcpip(
    id: number,
    window: number,
    packetSize: number,
    from: { boundAddr: string; boundPort: number; remoteAddr: string; remotePort: number },
  ): void
  channelData(peerId: number, data: Buffer): void
  channelEOF(peerId: number): void
  channelClose(peerId: number): void
  channelWindowAdjust(peerId: number, bytes: number): void
  channelFailure(peerId: number): void
  /** Set while keys are exchanged: what is sent meanwhile is queued without limit. */
  readonly _kexinit: unknown
  readonly _kex: { negotiated: { serverHostKey: string } } | undefined
  readonly _handlers: Handlers
  /** Takes what came in; a method of the prototype, so that an own one can stand before it. */
  parse?(bytes: Buffer, from: number, to: number): void
  /** What is offered at each key exchange. */
  _offer: object
  readonly _packetRW: { readonly write: PacketWriter }
  /** Replaced by each key exchange. */
  readonly _cipher: { encrypt(packet: Buffer): void }
  /** Takes the pieces of encrypted packets; each cipher remembers the one of its time. */
  _onWrite(chunk: Uint8Array): void
}

/** Makes packets that leave room for what the cipher adds. */
interface PacketWriter {
  /** Where the payload begins. */
  readonly allocStart: number
  alloc(payloadBytes: number): Buffer
  finalize(packet: Buffer): Buffer
}

/** Where messages about channels arrive; replaced for the channels the gateway opens itself. */
export interface Handlers {
  CHANNEL_OPEN_CONFIRMATION(
    protocol: Protocol,
    info: { recipient: number; sender: number; window: number; packetSize: number },
  ): void
  CHANNEL_OPEN_FAILURE(protocol: Protocol, id: number, reason: number, description: string): void
  CHANNEL_WINDOW_ADJUST(protocol: Protocol, id: number, bytes: number): void
  CHANNEL_DATA(protocol: Protocol, id: number, data: Buffer): void
  CHANNEL_EOF(protocol: Protocol, id: number): void
  CHANNEL_CLOSE(protocol: Protocol, id: number): void
  CHANNEL_REQUEST(protocol: Protocol, id: number, type: string, wantsReply: boolean, data: unknown): void
}

type IncomingConstructor = new (
  socket: Socket,
  hostKeys: Readonly<Record<string, HostKey>>,
  ident: Buffer,
  offer: object,
  debug: undefined,
  server: { emit(event: 'connection', client: IncomingClient, info: { header: ClientIdent }): boolean },
  settings: { keepaliveInterval: number; keepaliveCountMax: number },
) => IncomingClient

/** How a client introduced itself. */
export interface ClientIdent {
  readonly versions: { readonly software: string }
  readonly comments?: string | undefined
}

/** The algorithms a server offers, in its order of preference. */
export interface AlgorithmOffer {
  readonly kex: readonly string[]
  readonly hostKeys: readonly string[]
  /** Those for a client that lists these, and for one that does not say. */
  ciphers(listed: readonly string[]): readonly string[]
  readonly macs: readonly string[]
}

const IDENT = Buffer.from('Adit')

/** The gateway counts silence itself; the package's own timer is put off for as long as timers go. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Begins to speak SSH on a socket. `hostKeys` is asked when it has to prove itself, first and at each new key exchange. */
export function speakSsh(
  socket: Socket,
  offer: AlgorithmOffer,
  hostKeys: (client: () => IncomingClient) => Readonly<Record<string, HostKey>>,
  onHeader: (header: ClientIdent) => void,
): IncomingClient {
  const server = {
    emit(_event: 'connection', _client: IncomingClient, { header }: { header: ClientIdent }) {
      onHeader(header)
      return true
    },
  }
  const client: IncomingClient = new IncomingClient(
    socket,
    hostKeys(() => client),
    IDENT,
    kexInit(offer, [], []),
    undefined,
    server,
    { keepaliveInterval: MAX_TIMER_MS, keepaliveCountMax: 1 },
  )
  deferKexInit(client._protocol, socket, offer)
  if (!bindingAvailable) detachAfterUse(client, socket)
  return client
}

/** Number of the message, RFC 4252 section 6. */
const USERAUTH_BANNER = 53

/** Shows text to a client that is not logged in yet (RFC 4252 section 5.4); the package sends a banner at the start only. */
export function sendBanner({ _protocol: protocol }: IncomingClient, text: string): void {
  // Nothing but the key exchange may be sent while keys are exchanged.
  if (protocol._kexinit !== undefined) return
  const payload = Buffer.concat([Buffer.from([USERAUTH_BANNER]), wire(text.replaceAll('\n', '\r\n'), '')])
  const { write } = protocol._packetRW
  const packet = write.alloc(payload.length)
  payload.copy(packet, write.allocStart)
  protocol._cipher.encrypt(write.finalize(packet))
}

function kexInit(offer: AlgorithmOffer, toServer: readonly string[], toClient: readonly string[]): object {
  const direction = (listed: readonly string[]) => ({
    cipher: [...offer.ciphers(listed)],
    mac: [...offer.macs],
    compress: ['none'],
    lang: [],
  })
  return new KexInit({
    // Strict key exchange closes the door to prefix truncation (Terrapin).
    kex: [...offer.kex, 'kex-strict-s-v00@openssh.com'],
    serverHostKey: [...offer.hostKeys],
    cs: direction(toServer),
    sc: direction(toClient),
  })
}

/** The clients known send their lists at once. One that waits for ours gets them after this time. */
const KEXINIT_TIMEOUT_MS = 1000

/** Keeps the library from making its offer before the client's lists are there, so that the offer can fit them. */
function deferKexInit(protocol: Protocol, socket: Socket, offer: AlgorithmOffer): void {
  const received = new ByteQueue()
  const resume = (): void => {
    clearTimeout(timer)
    delete protocol.parse
  }
  const readKexInit = (bytes: Buffer, from: number, to: number): void => {
    received.push(bytes.subarray(from, to))
    const lists = parseCipherLists(received.bytes)
    if (lists === 'incomplete') return
    if (lists !== undefined) protocol._offer = kexInit(offer, lists.toServer, lists.toClient)
    resume()
    const buffered = received.take()
    protocol.parse?.(buffered, 0, buffered.length)
  }
  const timer = setTimeout(() => {
    // The library puts its own there when the connection is over.
    if (protocol.parse !== readKexInit) return
    resume()
    if (received.length > 0) socket.unshift(received.take())
  }, KEXINIT_TIMEOUT_MS)
  timer.unref()
  protocol.parse = readKexInit
}

/** Pieces up to this size are parts of a larger one, as the length of a packet, or not worth the effort. */
const MIN_DETACH_BYTES = 64

/**
 * Gives the memory of bulk packets back as soon as they have been encrypted, written or read. Not for the package's own
 * native ciphers, which work in the memory they are given.
 */
function detachAfterUse(client: IncomingClient, socket: Socket): void {
  const protocol = client._protocol
  protocol._onWrite = (chunk) => {
    if (!socket.writable) return
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    if (bytes.length <= MIN_DETACH_BYTES) socket.write(Buffer.from(bytes))
    else socket.write(bytes, () => releasePiece(bytes))
  }
  let first = true
  client.on('handshake', () => {
    const cipher = protocol._cipher
    const encrypt = cipher.encrypt.bind(cipher)
    cipher.encrypt = (packet) => {
      encrypt(packet)
      releasePiece(packet)
    }
    if (!first) return
    first = false
    // From the next read on, for what is not encrypted is kept as it came.
    const parse = protocol.parse?.bind(protocol)
    protocol.parse = (bytes, from, to) => {
      parse?.(bytes, from, to)
      releasePiece(bytes)
    }
  })
}

/** Whether the signature over the data was made with the key; false as well for keys and algorithms that are not taken. */
export function verifySignature(
  key: Buffer,
  algorithm: string,
  hash: string | undefined,
  data: Buffer,
  signature: Buffer,
): boolean {
  if (isSecurityKey(algorithm)) return verifyDeviceSignature(key, algorithm, data, signature)
  const parsed = parseKey(`${algorithm} ${key.toString('base64')}`)
  if (parsed instanceof Error || typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return false
  const { type, verify } = parsed as {
    type: string
    verify(data: Buffer, signature: Buffer, hash: string | undefined): boolean | Error
  }
  return type === algorithm && verify.call(parsed, data, signature, hash) === true
}
