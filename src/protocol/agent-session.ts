import type { Duplex } from 'node:stream'
import { connect as connectTls } from 'node:tls'
import type { BufferPool } from '../base/io/memory/buffer-pool.ts'
import { WindowBudget } from '../base/io/memory/window-budget.ts'
import { errorMessage } from '../base/text/error-message.ts'
import { type Clock, systemClock } from '../base/values/clock.ts'
import type { Secret } from '../base/values/secret.ts'
import { decode } from './decode.ts'
import type {
  AuthResponse,
  BindRequest,
  BindResponse,
  LabelRequest,
  LabelResponse,
  PatchRequest,
} from './messages.ts'
import { AddressesRequest, StopTunnelRequest, UpdateRequest } from './messages.ts'
import { ErrorCode, MAX_WINDOW, MuxError } from './mux/frame.ts'
import { Heartbeat, HeartbeatEcho, type HeartbeatTimes, Watchdog } from './mux/heartbeat.ts'
import { MuxSession } from './mux/mux-session.ts'
import type { MuxStream } from './mux/mux-stream.ts'
import { ProtocolError, parseProtocolError, toNativeCode } from './mux/protocol-error.ts'
import { CallReader, call } from './mux/rpc.ts'
import { StreamType, TypeReader } from './mux/stream-type.ts'
import { type ProxyHeader, ProxyHeaderReader } from './proxy-header.ts'

/** The identity an agent sends in Auth. */
export interface AgentIdentity {
  authtoken: Secret
  /** From the last Auth response when reconnecting, so that the server returns this agent's names at once. */
  clientId?: string
  cookie?: string
  version: string
  /** `name/version` items, outermost program first. */
  userAgent: string
  clientType: string
  os: string
  arch: string
  hostname?: string
  metadata?: string
  configVersion?: string
  /** The empty string means supported, other text why not. */
  commands: { restart: string; stop: string; update: string }
  proxyType?: string
  mutualTls?: boolean
  serviceRun?: boolean
  customInterface?: boolean
  customCas?: boolean
  /** How many legs the agent would open for one session; absent: this connection alone. */
  maxLegs?: number
  /** Whether the agent reads notes on its streams. */
  readsNotes?: boolean
  /** Joins this session as a further leg, with `clientId` and `cookie` of that session. */
  leg?: {
    readonly sessionId: string
    readonly number: number
    /** It has to end at another process than the session's home. */
    readonly mustBeRemote?: boolean
  }
}

/** A Bind as an agent sends it: unset options may be null, as the SDKs send them. */
export type BindMessage = Omit<BindRequest, 'Opts'> & { Opts?: object }

/** A command from the server. */
export type AgentCommand =
  | { name: 'restart' }
  | { name: 'stop' }
  | { name: 'update'; version: string; permitMajorVersion: boolean }
  | { name: 'stopTunnel'; id: string; message: string; errorCode: string | undefined }

/** Callbacks and settings of the agent's end. */
export interface AgentSessionOptions {
  identity: AgentIdentity
  heartbeat?: HeartbeatTimes
  /** A proxied connection; the stream's sink must be set before this returns. */
  onProxy(header: ProxyHeader, stream: MuxStream): void
  /** Executes a command before the response is sent; a rejection's message goes to the server. */
  onCommand(command: AgentCommand): Promise<void>
  /** The addresses of the platform have changed. */
  onAddresses?(addresses: readonly string[]): void
  /** The agent should start its next session at one of these addresses; without any, at the same address. */
  onMove?(addresses: readonly string[]): void
  onLatency?(milliseconds: number): void
  /** The session ended; the agent decides about reconnecting. Not called when Auth failed. */
  onClose(error?: Error): void
  onInternalError?(error: unknown): void
  /** How long the server may take to respond. */
  callTimeoutMs?: number
  /** The same for Auth; defaults to `callTimeoutMs`. */
  authTimeoutMs?: number
  pool?: BufferPool
  windows?: WindowBudget
  /** The largest send window of a stream; 0 keeps all windows at their initial size. */
  maxWindow?: number
  clock?: Clock
}

/** The server's address and its trusted roots. */
export interface AgentDialOptions {
  host: string
  port: number
  /** The name in the certificate, when it differs from `host`. */
  servername?: string
  /** PEM text of the roots; defaults to the system's. */
  ca?: string | readonly string[]
  timeoutMs?: number
}

const DEFAULT_HEARTBEAT: HeartbeatTimes = { intervalMs: 10_000, toleranceMs: 15_000 }
const DIAL_TIMEOUT_MS = 10_000
const CALL_TIMEOUT_MS = 30_000
const MAX_PROXY_STREAMS = 8192

/** Dials the server with TLS and authenticates. Rejects with a `ProtocolError` when the server rejects the agent. */
export async function connectAgentSession(
  options: AgentDialOptions & AgentSessionOptions,
): Promise<AgentSession> {
  return startAgentSession(await dial(options), options)
}

/** Starts a session on a connected transport: first beat, then Auth. */
export async function startAgentSession(
  transport: Duplex,
  options: AgentSessionOptions,
): Promise<AgentSession> {
  const session = new AgentSession(transport, options)
  await session.authenticate()
  return session
}

/** The agent's end of an agent session. */
export class AgentSession {
  readonly #options: AgentSessionOptions
  readonly #mux: MuxSession
  readonly #watchdog: Watchdog
  readonly #times: HeartbeatTimes
  #authResponse: AuthResponse | undefined

  constructor(transport: Duplex, options: AgentSessionOptions) {
    const clock = options.clock ?? systemClock
    this.#options = options
    this.#times = options.heartbeat ?? DEFAULT_HEARTBEAT
    this.#mux = new MuxSession(transport, {
      role: 'client',
      clock,
      onStream: (stream) => this.#accept(stream),
      onClose: (error) => this.#onClosed(error),
      onInternalError: (error) => this.#onInternalError(error),
      ...(options.pool && { pool: options.pool }),
    })
    this.#mux.maxIncoming = MAX_PROXY_STREAMS
    if (options.identity.readsNotes) this.#mux.acceptNotes()
    this.#watchdog = new Watchdog(this.#mux, this.#times.intervalMs + this.#times.toleranceMs, clock)
    new Heartbeat(this.#mux, this.#times.intervalMs, clock, (latency) => options.onLatency?.(latency))
  }

  /** The Auth response; store `ClientId` and `Extra.Cookie` for the next connection. */
  get authResponse(): AuthResponse {
    if (this.#authResponse === undefined) throw new Error('The session is not authenticated yet.')
    return this.#authResponse
  }

  get closed(): boolean {
    return this.#mux.closed
  }

  /** Open streams of visitors. */
  get streamCount(): number {
    return this.#mux.streamCount - this.#mux.openedCount
  }

  async authenticate(): Promise<void> {
    try {
      this.#authResponse = await this.#call<AuthResponse>(
        StreamType.Auth,
        toAuthRequest(this.#options.identity, this.#times, this.#options.maxWindow ?? MAX_WINDOW),
        this.#options.authTimeoutMs,
      )
    } catch (error) {
      this.#mux.close()
      throw error
    }
    this.#mux.agreeOnWindows(
      this.#authResponse.Extra?.MaxWindow,
      this.#options.windows ?? new WindowBudget().forSession(),
    )
  }

  /** Requests a public address. */
  bind(request: BindMessage): Promise<BindResponse> {
    return this.#call(StreamType.Bind, request)
  }

  startTunnelWithLabel(request: LabelRequest): Promise<LabelResponse> {
    return this.#call(StreamType.StartTunnelWithLabel, request)
  }

  async unbind(id: string): Promise<void> {
    await this.#call(StreamType.Unbind, { Id: id })
  }

  async patchTunnelState(request: PatchRequest): Promise<void> {
    await this.#call(StreamType.PatchTunnelState, request)
  }

  async srvInfo(): Promise<{ Region: string }> {
    return this.#call(StreamType.SrvInfo, {})
  }

  /** Sends GOAWAY and closes. */
  close(): void {
    this.#mux.close()
  }

  /** Drops the connection without GOAWAY. */
  destroy(error?: Error): void {
    this.#mux.destroy(error)
  }

  async #call<Response>(
    type: number,
    message: object,
    timeoutMs = this.#options.callTimeoutMs ?? CALL_TIMEOUT_MS,
  ): Promise<Response> {
    const response = await call(this.#mux, type, message, timeoutMs)
    if (typeof response.Error === 'string' && response.Error !== '') throw parseProtocolError(response.Error)
    return response as Response
  }

  #accept(stream: MuxStream): void {
    stream.sink = new TypeReader(stream, (type) => this.#onTyped(type, stream))
  }

  #onTyped(type: number, stream: MuxStream): void {
    if (type === StreamType.Proxy) stream.sink = new ProxyHeaderReader(stream, this.#options.onProxy)
    else if (type === StreamType.Heartbeat) stream.sink = new HeartbeatEcho(stream)
    else
      stream.sink = new CallReader(
        stream,
        (message) => this.#handleCommand(type, message),
        (error) => this.#onInternalError(error),
      )
  }

  async #handleCommand(type: number, message: Record<string, unknown>): Promise<object> {
    const { onAddresses, onMove } = this.#options
    const onNamed = { [StreamType.ConnectAddresses]: onAddresses, [StreamType.Move]: onMove }[type]
    if (onNamed !== undefined) {
      onNamed(decode(AddressesRequest, message).ConnectAddresses.map(({ ServerAddr }) => ServerAddr))
      return { Error: '' }
    }
    const command = parseCommand(type, message)
    try {
      await this.#options.onCommand(command)
    } catch (error) {
      throw error instanceof ProtocolError ? error : new ProtocolError(errorMessage(error))
    }
    return { Error: '' }
  }

  #onClosed(error: Error | undefined): void {
    this.#watchdog.stop()
    if (this.#authResponse !== undefined) this.#options.onClose(error)
  }

  #onInternalError(error: unknown): void {
    this.#options.onInternalError?.(error)
  }
}

function parseCommand(type: number, message: Record<string, unknown>): AgentCommand {
  switch (type) {
    case StreamType.Restart:
      return { name: 'restart' }
    case StreamType.Stop:
      return { name: 'stop' }
    case StreamType.Update: {
      const { Version = '', PermitMajorVersion = false } = decode(UpdateRequest, message)
      return { name: 'update', version: Version, permitMajorVersion: PermitMajorVersion }
    }
    case StreamType.StopTunnel: {
      const { Id, Message = '', ErrorCode } = decode(StopTunnelRequest, message)
      return { name: 'stopTunnel', id: Id, message: Message, errorCode: toNativeCode(ErrorCode) }
    }
    default:
      throw new ProtocolError(`This agent does not support commands of type ${type}.`)
  }
}

function toAuthRequest(identity: AgentIdentity, times: HeartbeatTimes, maxWindow: number): object {
  return {
    Version: ['3', '2'],
    ClientId: identity.clientId ?? '',
    Extra: {
      OS: identity.os,
      Arch: identity.arch,
      Authtoken: identity.authtoken.reveal(),
      Version: identity.version,
      Hostname: identity.hostname ?? '',
      UserAgent: identity.userAgent,
      Metadata: identity.metadata ?? '',
      Cookie: identity.cookie ?? '',
      HeartbeatInterval: Math.round(times.intervalMs * 1e6),
      HeartbeatTolerance: Math.round(times.toleranceMs * 1e6),
      UpdateUnsupportedError: identity.commands.update,
      StopUnsupportedError: identity.commands.stop,
      RestartUnsupportedError: identity.commands.restart,
      ProxyType: identity.proxyType ?? '',
      MutualTLS: identity.mutualTls ?? false,
      ServiceRun: identity.serviceRun ?? false,
      ConfigVersion: identity.configVersion ?? '',
      CustomInterface: identity.customInterface ?? false,
      CustomCAs: identity.customCas ?? false,
      ClientType: identity.clientType,
      ...(maxWindow > 0 && { MaxWindow: maxWindow }),
      ...(identity.maxLegs !== undefined && { MaxLegs: identity.maxLegs }),
      ...(identity.readsNotes && { Notes: true }),
      ...(identity.leg && { AgentSessionID: identity.leg.sessionId, LegNumber: identity.leg.number }),
      ...(identity.leg?.mustBeRemote && { Elsewhere: true }),
    },
  }
}

function dial(options: AgentDialOptions): Promise<Duplex> {
  const { host, port, servername, ca, timeoutMs = DIAL_TIMEOUT_MS } = options
  return new Promise((resolve, reject) => {
    const socket = connectTls({
      host,
      port,
      ...(servername !== undefined && { servername }),
      ...(ca !== undefined && { ca: ca as string | string[] }),
    })
    const timer = setTimeout(() => {
      const text = `${host}:${port} did not complete the TLS handshake within ${timeoutMs} ms.`
      socket.destroy(new MuxError(ErrorCode.WriteTimeout, text))
    }, timeoutMs)
    socket.once('error', reject)
    socket.once('close', () => clearTimeout(timer))
    socket.once('secureConnect', () => {
      clearTimeout(timer)
      socket.off('error', reject)
      resolve(socket)
    })
  })
}
