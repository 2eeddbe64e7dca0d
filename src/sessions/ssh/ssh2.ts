import type { EventEmitter } from 'node:events'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { ByteQueue } from '../../base/io/byte-queue.ts'
import { releasePiece } from '../../base/io/detach-buffer.ts'
import { readCipherLists } from './cipher-lists.ts'
import { deviceSignatureHolds, isSecurityKey } from './security-key.ts'
import { wire } from './wire.ts'

/**
 * The parts of the `ssh2` package the gateway stands on. Its public server takes neither host certificates nor smaller
 * windows and closes a channel where only one direction ended, so the gateway makes connections and channels itself.
 * Every reach into the package is in this file; the version is pinned, and the tests with OpenSSH hold it to its word.
 */
const load = createRequire(import.meta.url)
const { IncomingClient } = load('ssh2/lib/server.js') as { IncomingClient: IncomingConstructor }
const { KexInit } = load('ssh2/lib/protocol/kex.js') as { KexInit: new (lists: object) => object }
const { bindingAvailable } = load('ssh2/lib/protocol/crypto.js') as { bindingAvailable: boolean }
const { parseKey } = load('ssh2/lib/protocol/keyParser.js') as { parseKey(text: string): unknown }

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

type Answer = ((value?: number) => void) | undefined

/** A session channel before anything runs in it. */
export interface SessionRequests {
  on(event: 'pty' | 'window-change', heard: (accept: Answer, reject: Answer) => void): this
  on(event: 'shell', heard: (accept: () => SessionChannel | undefined, reject: Answer) => void): this
  on(
    event: 'exec',
    heard: (accept: () => SessionChannel | undefined, reject: Answer, info: { command: string }) => void,
  ): this
  on(event: 'close', heard: () => void): this
}

interface ClientEvents {
  authentication(context: AuthContext): void
  handshake(): void
  rekey(): void
  error(error: Error): void
  close(): void
  request(accept: Answer, reject: Answer, name: string, info: ForwardTarget): void
  session(accept: () => SessionRequests | undefined, reject: () => void): void
}

/** The connection of one client. */
export interface IncomingClient extends EventEmitter {
  on<E extends keyof ClientEvents>(event: E, heard: ClientEvents[E]): this
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
  _onWrite(piece: Uint8Array): void
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
  server: { emit(event: 'connection', client: IncomingClient, info: { header: Header }): boolean },
  settings: { keepaliveInterval: number; keepaliveCountMax: number },
) => IncomingClient

/** How a client introduced itself. */
export interface Header {
  readonly versions: { readonly software: string }
  readonly comments?: string | undefined
}

/** The algorithms a server offers, in its order of preference. */
export interface Offer {
  readonly kex: readonly string[]
  readonly hostKeys: readonly string[]
  /** Those for a client that lists these, and for one that does not say. */
  ciphers(listed: readonly string[]): readonly string[]
  readonly macs: readonly string[]
}

const IDENT = Buffer.from('Adit')

/** The gateway counts silence itself; the package's own timer is put off for as long as timers go. */
const NEVER = 2 ** 31 - 1

/** Begins to speak SSH on a socket. `hostKeys` is asked when it has to prove itself, first and at each new key exchange. */
export function speakSsh(
  socket: Socket,
  offer: Offer,
  hostKeys: (client: () => IncomingClient) => Readonly<Record<string, HostKey>>,
  onHeader: (header: Header) => void,
): IncomingClient {
  const server = {
    emit(_event: 'connection', _client: IncomingClient, { header }: { header: Header }) {
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
    { keepaliveInterval: NEVER, keepaliveCountMax: 1 },
  )
  hearFirst(client._protocol, socket, offer)
  if (!bindingAvailable) giveMemoryBack(client, socket)
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

function kexInit(offer: Offer, toServer: readonly string[], toClient: readonly string[]): object {
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
const LISTS_EXPECTED_MS = 1000

/** Keeps the library from making its offer before the client's lists are there, so that the offer can fit them. */
function hearFirst(protocol: Protocol, socket: Socket, offer: Offer): void {
  const held = new ByteQueue()
  const goOn = (): void => {
    clearTimeout(late)
    delete protocol.parse
  }
  const hear = (bytes: Buffer, from: number, to: number): void => {
    held.push(bytes.subarray(from, to))
    const lists = readCipherLists(held.bytes)
    if (lists === 'incomplete') return
    if (lists !== undefined) protocol._offer = kexInit(offer, lists.toServer, lists.toClient)
    goOn()
    const heard = held.take()
    protocol.parse?.(heard, 0, heard.length)
  }
  const late = setTimeout(() => {
    // The library puts its own there when the connection is over.
    if (protocol.parse !== hear) return
    goOn()
    if (held.length > 0) socket.unshift(held.take())
  }, LISTS_EXPECTED_MS)
  late.unref()
  protocol.parse = hear
}

/** Pieces up to this size are parts of a larger one, as the length of a packet, or not worth the effort. */
const SMALL = 64

/**
 * Gives the memory of bulk packets back as soon as they have been encrypted, written or read. Not for the package's own
 * native ciphers, which work in the memory they are given.
 */
function giveMemoryBack(client: IncomingClient, socket: Socket): void {
  const protocol = client._protocol
  protocol._onWrite = (piece) => {
    if (!socket.writable) return
    const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
    if (bytes.length <= SMALL) socket.write(Buffer.from(bytes))
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
export function signatureHolds(
  key: Buffer,
  algorithm: string,
  hash: string | undefined,
  data: Buffer,
  signature: Buffer,
): boolean {
  if (isSecurityKey(algorithm)) return deviceSignatureHolds(key, algorithm, data, signature)
  const parsed = parseKey(`${algorithm} ${key.toString('base64')}`)
  if (parsed instanceof Error || typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    return false
  const { type, verify } = parsed as {
    type: string
    verify(data: Buffer, signature: Buffer, hash: string | undefined): boolean | Error
  }
  return type === algorithm && verify.call(parsed, data, signature, hash) === true
}
