import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import cryptoModule from 'ssh2/lib/protocol/crypto.js'
import kexModule from 'ssh2/lib/protocol/kex.js'
import keyParserModule from 'ssh2/lib/protocol/keyParser.js'
import serverModule from 'ssh2/lib/server.js'
import { detachBuffer } from '../../../base/io/memory/detach-buffer.ts'
import { ByteQueue } from '../../../base/io/streams/byte-queue.ts'
import { parseCipherLists } from './cipher-lists.ts'
import { isSecurityKey, verifyDeviceSignature } from './security-key.ts'
import { encodeStrings } from './wire.ts'

/**
 * The adapter of the `ssh2` package, and the only file that may use its deep imports and private members. The package's
 * public server supports neither host certificates nor smaller windows, and closes a channel when only one direction
 * ended, so the gateway creates connections and channels itself (decision 155). The version is pinned, `ssh2.test.ts`
 * names what an upgrade breaks, and tests with OpenSSH verify the behaviour.
 */
const { IncomingClient } = serverModule as { IncomingClient: IncomingConstructor }
const { KexInit } = kexModule as { KexInit: new (lists: object) => object }
const { bindingAvailable } = cryptoModule as { bindingAvailable: boolean }
const { parseKey } = keyParserModule as { parseKey(text: string): unknown }

/** A host key, in the shape the package expects. */
export interface HostKey {
  /** The signature algorithm; for a certificate this differs from the negotiated name. */
  readonly type: string
  /** The key or its certificate in wire format. */
  getPublicSSH(): Buffer
  sign(data: Buffer): Buffer
}

/** One authentication attempt. */
export interface AuthContext {
  readonly method: string
  readonly username: string
  /** `data` is absent when the message was truncated. */
  readonly key?: { readonly algo: string; readonly data?: Buffer | undefined }
  readonly hashAlgo?: string | undefined
  /** Absent when the client only asks whether the key is acceptable (RFC 4252 section 7). */
  readonly signature?: Buffer | undefined
  /** The signed data. */
  readonly blob?: Buffer | undefined
  /** With a signature: authenticates. Without: answers that the key is acceptable. */
  accept(): void
  reject(methodsLeft: string[]): void
}

/** The address of a `tcpip-forward` request. */
export interface ForwardTarget {
  readonly bindAddr: string
  readonly bindPort: number
}

/** The channel of a shell or command. */
export interface SessionChannel extends Duplex {
  readonly stderr: NodeJS.WritableStream
  exit(status: number): void
}

type Reply = ((value?: number) => void) | undefined

/** A session channel before a shell or command starts in it. */
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

/** A client connection of the package. */
export interface IncomingClient extends EventEmitter {
  on<E extends keyof ClientEvents>(event: E, listener: ClientEvents[E]): this
  /** Sends DISCONNECT and half-closes. */
  end(): void
}

/** The package's sender of connection protocol messages (RFC 4254). */
export interface ChannelProtocol {
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
}

/** Its private members. */
interface Protocol extends ChannelProtocol {
  ping(): void
  /** Set during a key exchange; the package queues everything sent meanwhile without limit. */
  readonly _kexinit: unknown
  readonly _kex: { negotiated: { serverHostKey: string } } | undefined
  readonly _handlers: Handlers
  /** Parses received bytes. A prototype method, so an own property can override it. */
  parse?(bytes: Buffer, from: number, to: number): void
  /** The KEXINIT of each key exchange. */
  _offer: object
  readonly _packetRW: { readonly write: PacketWriter }
  /** Replaced by each key exchange. */
  readonly _cipher: { encrypt(packet: Buffer): void }
  /** Writes chunks of encrypted packets; each cipher keeps the function that was set when it was created. */
  _onWrite(chunk: Uint8Array): void
}

/** Allocates packets with room for the cipher's overhead. */
interface PacketWriter {
  /** Offset of the payload. */
  readonly allocStart: number
  alloc(payloadBytes: number): Buffer
  finalize(packet: Buffer): Buffer
}

/** Handlers of channel messages; overridden for the channels that the gateway opens. */
export interface Handlers {
  CHANNEL_OPEN_CONFIRMATION(
    protocol: ChannelProtocol,
    info: { recipient: number; sender: number; window: number; packetSize: number },
  ): void
  CHANNEL_OPEN_FAILURE(protocol: ChannelProtocol, id: number, reason: number, description: string): void
  CHANNEL_WINDOW_ADJUST(protocol: ChannelProtocol, id: number, bytes: number): void
  CHANNEL_DATA(protocol: ChannelProtocol, id: number, data: Buffer): void
  CHANNEL_EOF(protocol: ChannelProtocol, id: number): void
  CHANNEL_CLOSE(protocol: ChannelProtocol, id: number): void
  CHANNEL_REQUEST(
    protocol: ChannelProtocol,
    id: number,
    type: string,
    wantsReply: boolean,
    data: unknown,
  ): void
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

/** The identification string of a client (RFC 4253 section 4.2). */
export interface ClientIdent {
  readonly versions: { readonly software: string }
  readonly comments?: string | undefined
}

/** The algorithms a server offers, in its order of preference. */
export interface AlgorithmOffer {
  readonly kex: readonly string[]
  readonly hostKeys: readonly string[]
  /** The ciphers to offer a client that lists these; an empty list when unknown. */
  ciphers(listed: readonly string[]): readonly string[]
  readonly macs: readonly string[]
}

const IDENT = Buffer.from('Adit')

/** The gateway does its own keepalive, so the package's timer is set to the longest delay. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Starts the SSH server protocol on a socket. The host keys are used in every key exchange. */
export function startSshServer(
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
  deferKexInit(protocolOf(client), socket, offer)
  if (!bindingAvailable) detachAfterUse(client, socket)
  return client
}

/** Sends the messages of channels that the gateway opens. */
export function channelProtocol(client: IncomingClient): ChannelProtocol {
  return protocolOf(client)
}

/** Replaces the handlers of channel messages; `create` gets those of the package. */
export function overrideHandlers(client: IncomingClient, create: (handlers: Handlers) => Handlers): void {
  const handlers = protocolOf(client)._handlers
  Object.assign(handlers, create({ ...handlers }))
}

/** True during a key exchange, when the package queues everything sent without limit. */
export function isExchangingKeys(client: IncomingClient): boolean {
  return protocolOf(client)._kexinit !== undefined
}

/** Calls back for every reply to a global request; the gateway sends no such requests but pings. */
export function onRequestReply(client: IncomingClient, onReply: () => void): void {
  Object.assign(protocolOf(client)._handlers, { REQUEST_SUCCESS: onReply, REQUEST_FAILURE: onReply })
}

/** Sends a request that the client has to answer. */
export function pingClient(client: IncomingClient): void {
  protocolOf(client).ping()
}

/** Sets the algorithm name in the signature of the key exchange in progress; the package writes the negotiated one. */
export function setSignatureAlgorithm(client: IncomingClient, name: string): void {
  const exchange = protocolOf(client)._kex
  if (exchange !== undefined) exchange.negotiated.serverHostKey = name
}

function protocolOf(client: IncomingClient): Protocol {
  return (client as IncomingClient & { readonly _protocol: Protocol })._protocol
}

/** Message number, RFC 4252 section 6. */
const USERAUTH_BANNER = 53

/** Sends a banner before authentication (RFC 4252 section 5.4); the package can only send one at the start. */
export function sendBanner(client: IncomingClient, text: string): void {
  // RFC 4253 section 7.1: only key exchange messages may be sent during a key exchange.
  if (isExchangingKeys(client)) return
  const payload = Buffer.concat([
    Buffer.from([USERAUTH_BANNER]),
    encodeStrings(text.replaceAll('\n', '\r\n'), ''),
  ])
  const { _packetRW, _cipher } = protocolOf(client)
  const { write } = _packetRW
  const packet = write.alloc(payload.length)
  payload.copy(packet, write.allocStart)
  _cipher.encrypt(write.finalize(packet))
}

function kexInit(offer: AlgorithmOffer, toServer: readonly string[], toClient: readonly string[]): object {
  const direction = (listed: readonly string[]) => ({
    cipher: [...offer.ciphers(listed)],
    mac: [...offer.macs],
    compress: ['none'],
    lang: [],
  })
  return new KexInit({
    // Strict key exchange prevents prefix truncation (Terrapin).
    kex: [...offer.kex, 'kex-strict-s-v00@openssh.com'],
    serverHostKey: [...offer.hostKeys],
    cs: direction(toServer),
    sc: direction(toClient),
  })
}

/** Known clients send KEXINIT at once. A client that waits for ours gets it after this time. */
const KEXINIT_TIMEOUT_MS = 1000

/** Delays our KEXINIT until the client's has arrived, so that the offered ciphers can depend on it (decision 74). */
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
    // The package replaces it when the connection ends.
    if (protocol.parse !== readKexInit) return
    resume()
    if (received.length > 0) socket.unshift(received.take())
  }, KEXINIT_TIMEOUT_MS)
  timer.unref()
  protocol.parse = readKexInit
}

/** Smaller chunks are views into a larger one, such as a packet length, or not worth detaching. */
const MIN_DETACH_BYTES = 64

/**
 * Detaches the buffers of bulk packets as soon as they have been encrypted, written or parsed: the collector frees them too
 * late during a bulk transfer (decision 96). Not for the package's native ciphers, which encrypt in place.
 */
function detachAfterUse(client: IncomingClient, socket: Socket): void {
  const protocol = protocolOf(client)
  protocol._onWrite = (chunk) => {
    if (!socket.writable) return
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    if (bytes.length <= MIN_DETACH_BYTES) socket.write(Buffer.from(bytes))
    else socket.write(bytes, () => detachBuffer(bytes))
  }
  let first = true
  client.on('handshake', () => {
    const cipher = protocol._cipher
    const encrypt = cipher.encrypt.bind(cipher)
    cipher.encrypt = (packet) => {
      encrypt(packet)
      detachBuffer(packet)
    }
    if (!first) return
    first = false
    // From the next read on: the package keeps references to unencrypted input.
    const parse = protocol.parse?.bind(protocol)
    protocol.parse = (bytes, from, to) => {
      parse?.(bytes, from, to)
      detachBuffer(bytes)
    }
  })
}

/** Verifies a signature over the data; false for unsupported keys and algorithms too. */
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
