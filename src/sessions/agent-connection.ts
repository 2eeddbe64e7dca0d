import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { setTimeout as setTimer } from 'node:timers/promises'
import { type Acl, compileAcl, isTokenShaped, type TunnelPrincipal } from '../auth/index.ts'
import type { Clock } from '../base/clock.ts'
import { errorMessage } from '../base/error-message.ts'
import { newId } from '../base/id.ts'
import type { BufferPool } from '../base/io/buffer-pool.ts'
import type { ByteBudget } from '../base/io/byte-budget.ts'
import type { ByteStream } from '../base/io/stream.ts'
import type { WindowBudget } from '../base/io/window-budget.ts'
import type { Logger } from '../base/log.ts'
import {
  AuthRequest,
  type AuthResponse,
  BindRequest,
  type BindResponse,
  decode,
  ErrorCode,
  LabelRequest,
  MuxError,
  PatchRequest,
  ProtocolError,
  protocolError,
  protocolErrors,
  proxyProtocolHeader,
  rawField,
  ServedSession,
  StreamType,
  UnbindRequest,
} from '../protocol/index.ts'
import { agentKind } from './agent-kind.ts'
import { AgentStreams } from './agent-streams.ts'
import type { Binder } from './bind.ts'
import { responseOpts } from './bind-response.ts'
import { parseTrafficPolicy } from './endpoint-options.ts'
import {
  type Command,
  type CommandOutcome,
  type LiveSession,
  PROBE_TIMEOUT_MS,
  type ProbeOutcome,
} from './live-session.ts'
import type { LiveTunnel } from './live-tunnel.ts'
import type { Registry } from './registry.ts'
import type { ResumeTokens } from './resume.ts'
import type { ClientInfo, EndpointOptions } from './tunnel.ts'

/** Dependencies and limits of an agent connection. */
export interface AgentConnectionOptions {
  registry: Registry
  binder: Binder
  resume: ResumeTokens
  /** The principal of the token; undefined for an unknown token. */
  authenticate(token: string): Promise<TunnelPrincipal | undefined>
  /** Whether a token that is no authtoken is an API key, for a clear error. */
  isApiKey?(token: string): Promise<boolean>
  /** The SNI name the agent dialled. */
  serverName?: string | undefined
  /** The local address of the connection. */
  serverIp: string
  /** The account that owns the agent ingress with this name; only its agents may use it. */
  ingressAccount?(serverName: string): string | undefined
  /** Whether the account's IP restrictions admit agents from this address. */
  admits?(accountId: string, ip: string): boolean
  /** Account details that agents display. */
  describeAccount?(accountId: string): Promise<{ name: string; plan: string; banner: string }>
  region: string
  /** Agent addresses of all nodes. */
  connectAddresses?(): readonly string[]
  serverVersion: string
  log: Logger
  clock: Clock
  pool: BufferPool
  /** Shared by the windows of all sessions. */
  windows: WindowBudget
  /** Charged for the bytes of unfinished messages. */
  budget: ByteBudget
  /** How long an incomplete message may stay pending. */
  messageTimeoutMs?: number | undefined
  /** The shortest accepted heartbeat interval and tolerance; for tests. */
  minHeartbeatMs?: number
  /** How long the agent may take to answer a probe. */
  probeTimeoutMs?: number
  /** Delay before a token is checked, for addresses with failed logins. */
  authDelayMs(): number
  /** Admits a session of the account; false when it has reached its limit. */
  admitSession(accountId: string): boolean
  onAuthFailure(): void
  onAuthenticated(): void
  onClose(): void
}

type Extra = NonNullable<AuthRequest['Extra']>
type Message = Record<string, unknown>

const MAX_METADATA_BYTES = 4096
const MIN_HEARTBEAT_MS = 1000
const DEFAULT_HEARTBEAT_INTERVAL_NS = 10e9
const DEFAULT_HEARTBEAT_TOLERANCE_NS = 15e9

/** Upper limit of the silence timeout, whatever the agent asks for: a dead agent must not hold its names longer. */
const MAX_SILENCE_MS = 300_000

/** Time for a rejected agent to read the error before the connection closes. */
const REJECT_LINGER_MS = 1000

/** Errors of the ACL: a reconnecting agent must not lose all its tunnels because one is now forbidden (decision 32). */
const ACL_ERRORS = new Set<number | undefined>([
  protocolErrors.name_forbidden.number,
  protocolErrors.address_forbidden.number,
  protocolErrors.random_address_forbidden.number,
])

const PROBE_FAILED_REASON = 'The agent did not answer a probe.'

const EDGE_TYPES: Record<ClientInfo['via'], string> = {
  endpoint: '0',
  'tcp-edge': '1',
  'tls-edge': '2',
  'https-edge': '3',
}

/** The principal of an authenticated connection, and what its Auth message said. */
interface Identity {
  principal: TunnelPrincipal
  clientId: string
  fence: number
  extra: Extra
  startedAt: number
  streams: AgentStreams
}

/** One agent connection from its first byte: serves its RPCs and, once authenticated, is its session. */
export class AgentConnection implements LiveSession {
  readonly id: string
  readonly ip: string
  readonly transport = 'adit/v2'
  acl: Acl = compileAcl([])
  readonly #options: AgentConnectionOptions
  readonly #session: ServedSession
  #identity: Identity | undefined
  #authenticating = false
  #restarting = false
  #probing: Promise<ProbeOutcome> | undefined

  constructor(transport: Duplex, ip: string, options: AgentConnectionOptions) {
    this.id = newId('ts', options.clock.now())
    this.ip = ip
    this.#options = options
    this.#session = new ServedSession(transport, {
      onCall: (type, message) => this.#dispatch(type, message),
      onClose: (error) => this.#onClosed(error),
      onStreamsClosed: (count) => this.#identity?.streams.onStreamsClosed(count),
      onInternalError: (error) => options.log.error({ err: error, session: this.id }, 'agent session failed'),
      clock: options.clock,
      pool: options.pool,
      budget: options.budget,
      messageTimeoutMs: options.messageTimeoutMs,
    })
  }

  get authenticated(): boolean {
    return this.#identity !== undefined
  }

  get accountId(): string {
    return this.#requiredIdentity.principal.accountId
  }

  get credentialId(): string {
    return this.#requiredIdentity.principal.credentialId
  }

  get ownerId(): string {
    return this.#requiredIdentity.principal.ownerId
  }

  get clientId(): string {
    return this.#requiredIdentity.clientId
  }

  get fence(): number {
    return this.#requiredIdentity.fence
  }

  get agentVersion(): string {
    return this.#requiredIdentity.extra.Version ?? ''
  }

  get os(): string {
    return this.#requiredIdentity.extra.OS ?? ''
  }

  get arch(): string {
    return this.#requiredIdentity.extra.Arch ?? ''
  }

  get hostname(): string {
    return this.#requiredIdentity.extra.Hostname ?? ''
  }

  get userAgent(): string {
    return this.#requiredIdentity.extra.UserAgent ?? ''
  }

  get ingressHostname(): string {
    return this.#options.serverName ?? ''
  }

  get ingressIp(): string {
    return this.#options.serverIp
  }

  get metadata(): string {
    return this.#requiredIdentity.extra.Metadata ?? ''
  }

  get startedAt(): number {
    return this.#requiredIdentity.startedAt
  }

  get region(): string {
    return this.#options.region
  }

  end(reason: string): void {
    this.#session.close(ErrorCode.NoError, reason)
  }

  destroy(error: Error): void {
    this.#session.destroy(error)
  }

  tunnelEnded(tunnel: LiveTunnel, reason: string): void {
    this.#session.stopTunnel(tunnel.bindId, reason, null)
  }

  probe(): Promise<ProbeOutcome> {
    this.#probing ??= this.#probeOnce().finally(() => {
      this.#probing = undefined
    })
    return this.#probing
  }

  async command(command: Command): Promise<CommandOutcome> {
    const { RestartUnsupportedError, StopUnsupportedError, UpdateUnsupportedError } =
      this.#requiredIdentity.extra
    const unsupported = {
      restart: RestartUnsupportedError,
      stop: StopUnsupportedError,
      update: UpdateUnsupportedError,
    }[command]
    if (unsupported !== '') {
      const reason = unsupported ?? `The agent is too old to know the command ${command}.`
      return { done: false, because: 'unsupported', reason }
    }
    this.#restarting = command === 'restart'
    const type = { restart: StreamType.Restart, stop: StreamType.Stop, update: StreamType.Update }[command]
    try {
      await this.#session.command(
        type,
        command === 'update' ? { Version: '', PermitMajorVersion: false } : {},
      )
      return { done: true }
    } catch (error) {
      const because = error instanceof ProtocolError ? 'failed' : 'lost'
      return { done: false, because, reason: errorMessage(error) }
    }
  }

  async #probeOnce(): Promise<ProbeOutcome> {
    if (await this.#session.probe(this.#options.probeTimeoutMs ?? PROBE_TIMEOUT_MS)) return 'alive'
    const error = new MuxError(ErrorCode.PeerEof, PROBE_FAILED_REASON)
    // Removed here, not when the connection closes: the caller claims the names next.
    this.#options.registry.removeSession(this, 'lost', PROBE_FAILED_REASON)
    this.destroy(error)
    return 'gone'
  }

  get #requiredIdentity(): Identity {
    if (this.#identity === undefined) throw protocolError('not_authenticated')
    return this.#identity
  }

  #dispatch(type: number, message: Message): Promise<object> | object {
    if (type === StreamType.SrvInfo) return { Region: this.#options.region }
    if (type === StreamType.Auth) return this.#handleAuth(message)
    if (this.#identity === undefined) throw protocolError('not_authenticated')
    switch (type) {
      case StreamType.Bind:
        return this.#handleBind(message)
      case StreamType.StartTunnelWithLabel:
        return this.#handleBindLabels(message)
      case StreamType.Unbind:
        return this.#handleUnbind(message)
      case StreamType.PatchTunnelState:
        return this.#handlePatch(message)
      default:
        throw protocolError('request_unknown', String(type))
    }
  }

  async #handleAuth(message: Message): Promise<AuthResponse> {
    try {
      return await this.#authenticate(decode(AuthRequest, message, 'auth_undecodable'))
    } catch (error) {
      // SDKs cannot decode an error without the fields of a success, and need time to read it before the close.
      const text = this.#wireText(error)
      setTimeout(() => {
        if (this.#identity === undefined) this.#session.close(ErrorCode.NoError, 'authentication failed')
      }, REJECT_LINGER_MS).unref()
      return { Version: '3', ClientId: '', Error: text, Extra: emptyExtra(this.#options.serverVersion) }
    }
  }

  #requireIngress(accountId: string): void {
    const { serverName, ingressAccount } = this.#options
    if (serverName === undefined) return
    const owner = ingressAccount?.(serverName)
    if (owner !== undefined && owner !== accountId)
      throw protocolError('ingress_of_other_account', serverName)
  }

  async #authenticate(request: AuthRequest): Promise<AuthResponse> {
    const { resume, registry, authenticate, clock } = this.#options
    const extra = request.Extra ?? {}
    const silenceMs = this.#allowedSilence(extra)
    if (Buffer.byteLength(extra.Metadata ?? '') > MAX_METADATA_BYTES) throw protocolError('metadata_too_long')
    if (this.#authenticating) throw protocolError('message_undecodable', 'Auth may be sent once.')
    this.#authenticating = true

    const delayMs = this.#options.authDelayMs()
    if (delayMs > 0) await setTimer(delayMs)
    const token = extra.Authtoken ?? ''
    const since = registry.credentialChangeCount
    const principal = await authenticate(token)
    if (principal === undefined) {
      this.#options.onAuthFailure()
      if (!isTokenShaped(token)) throw protocolError('token_malformed')
      throw protocolError((await this.#options.isApiKey?.(token)) ? 'token_is_api_key' : 'token_unknown')
    }
    if (this.#options.admits?.(principal.accountId, this.ip) === false)
      throw protocolError('address_refused', this.ip)
    this.#requireIngress(principal.accountId)
    const account = await this.#options.describeAccount?.(principal.accountId)
    if (this.#session.closed) throw protocolError('unavailable')
    if (!this.#options.admitSession(principal.accountId)) throw protocolError('too_many_sessions')

    const { credentialId } = principal
    const requestedId = request.ClientId ?? ''
    const provenFence =
      requestedId === '' ? undefined : resume.verifyCookie(extra.Cookie ?? '', credentialId, requestedId)
    const clientId = provenFence === undefined ? randomBytes(16).toString('hex') : requestedId
    const fence = registry.nextFence(credentialId, clientId, provenFence ?? 0)
    const { Authtoken: _secret, ...publicExtra } = extra
    const { firstParty, limits } = agentKind(extra)
    const streams = new AgentStreams(this.#session, limits)
    this.#identity = { principal, clientId, fence, extra: publicExtra, startedAt: clock.now(), streams }
    this.acl = compileAcl(principal.acl)
    try {
      registry.addSession(this, since)
    } catch (error) {
      this.#identity = undefined
      throw error
    }
    this.#session.authenticated(silenceMs, firstParty)
    const maxWindow = this.#session.agreeOnWindows(extra.MaxWindow, this.#options.windows)
    this.#options.onAuthenticated()
    return {
      Version: '3',
      ClientId: clientId,
      Error: '',
      Extra: {
        ...emptyExtra(this.#options.serverVersion),
        Region: this.#options.region,
        Cookie: resume.createCookie(credentialId, clientId, fence),
        AccountName: account?.name ?? '',
        PlanName: account?.plan ?? '',
        Banner: account?.banner ?? '',
        AgentSessionID: this.id,
        // Other agents would open a connection to each address.
        ConnectAddresses: firstParty ? this.#connectAddresses() : [],
        ...(extra.MaxWindow !== undefined && { MaxWindow: maxWindow }),
      },
    }
  }

  #connectAddresses(): { Region: string; ServerAddr: string }[] {
    const { connectAddresses, region } = this.#options
    return (connectAddresses?.() ?? []).map((ServerAddr) => ({ Region: region, ServerAddr }))
  }

  /** Silence after which the agent counts as dead: exactly what it asked for, since P14 promises 25 s by default. */
  #allowedSilence({ HeartbeatInterval, HeartbeatTolerance }: Extra): number {
    const minMs = this.#options.minHeartbeatMs ?? MIN_HEARTBEAT_MS
    const intervalMs = (HeartbeatInterval || DEFAULT_HEARTBEAT_INTERVAL_NS) / 1e6
    const toleranceMs = (HeartbeatTolerance || DEFAULT_HEARTBEAT_TOLERANCE_NS) / 1e6
    if (intervalMs < minMs) throw protocolError('heartbeat_interval')
    if (toleranceMs < minMs) throw protocolError('heartbeat_tolerance')
    return Math.min(intervalMs + toleranceMs, MAX_SILENCE_MS)
  }

  async #handleBind(message: Message): Promise<BindResponse> {
    const requested = rawField(message, 'Opts')
    let proto = ''
    try {
      const request = decode(BindRequest, message)
      proto = request.Proto
      const response = await this.#bindOrAcceptUnrouted(request)
      return { ...response, Opts: responseOpts(proto, requested, response.URL), Error: '' }
    } catch (error) {
      // As for Auth: SDKs require the fields of a success.
      return {
        Id: '',
        URL: '',
        Proto: proto,
        Opts: responseOpts(proto, requested),
        Error: this.#wireText(error),
        Extra: { Token: '', TunnelID: '' },
      }
    }
  }

  async #bindOrAcceptUnrouted(request: BindRequest): Promise<Omit<BindResponse, 'Opts' | 'Error'>> {
    const { binder, resume } = this.#options
    try {
      const tunnel = await binder.bind(this, request, (...args) => this.#openStream(...args))
      const Token = resume.createBindToken(this.credentialId, tunnel.address.url)
      return {
        Id: tunnel.bindId,
        URL: tunnel.address.url,
        Proto: request.Proto,
        Extra: { Token, TunnelID: tunnel.id },
      }
    } catch (error) {
      const Token = request.Extra?.Token ?? ''
      const URL = resume.verifyBindToken(Token, this.credentialId)
      const forgivable = error instanceof ProtocolError && ACL_ERRORS.has(error.number)
      if (!forgivable || !request.Id || URL === undefined) throw error
      // An error would keep the agent from reconnecting at all, so a repeated bind is accepted but not routed.
      return { Id: request.Id, URL, Proto: request.Proto, Extra: { Token, TunnelID: '' } }
    }
  }

  async #handleBindLabels(message: Message): Promise<object> {
    try {
      const request = decode(LabelRequest, message)
      const { binder } = this.#options
      const tunnel = await binder.bindLabels(this, request, (...args) => this.#openStream(...args))
      return { Id: tunnel.bindId, Error: '' }
    } catch (error) {
      return { Id: '', Error: this.#wireText(error) }
    }
  }

  async #handleUnbind(message: Message): Promise<object> {
    const { Id } = decode(UnbindRequest, message)
    await this.#options.binder.unbind(this, Id)
    return { Error: '', Extra: null }
  }

  #handlePatch(message: Message): object {
    const patch = decode(PatchRequest, message)
    const tunnel = this.#options.registry.tunnelsIn(this).find(({ id }) => id === patch.TunnelId)
    if (tunnel === undefined) throw protocolError('tunnel_unknown', patch.TunnelId)
    if (Buffer.byteLength(patch.Metadata ?? '') > MAX_METADATA_BYTES) {
      throw protocolError('options_invalid', `Metadata is longer than ${MAX_METADATA_BYTES} bytes.`)
    }
    if (Buffer.byteLength(patch.Name ?? '') > 255 || Buffer.byteLength(patch.Description ?? '') > 255) {
      throw protocolError('options_invalid', 'Name and Description have at most 255 bytes.')
    }
    const options = patchedOptions(tunnel, patch.TrafficPolicy)
    if (patch.PoolingEnabled !== undefined) this.#options.binder.setPooled(tunnel, patch.PoolingEnabled)
    this.#options.registry.patch(this, tunnel.bindId, {
      name: patch.Name ?? tunnel.name,
      description: patch.Description ?? tunnel.description,
      metadata: patch.Metadata ?? tunnel.metadata,
      options,
      updatedAt: this.#options.clock.now(),
    })
    return { Error: '' }
  }

  #openStream(tunnel: LiveTunnel, client: ClientInfo): ByteStream {
    const { proxyProto } = tunnel.options
    const header = {
      Id: tunnel.bindId,
      ClientAddr: client.clientAddress,
      Proto: client.proto,
      EdgeType: EDGE_TYPES[client.via],
      PassthroughTLS: client.passthroughTls,
    }
    const preamble =
      proxyProto === 0
        ? undefined
        : proxyProtocolHeader(proxyProto, client.clientAddress, client.serverAddress)
    return this.#requiredIdentity.streams.open(header, preamble)
  }

  #wireText(error: unknown): string {
    if (error instanceof ProtocolError) return error.wireText
    this.#options.log.error({ err: error, session: this.id }, 'agent request failed')
    return protocolError('unavailable').wireText
  }

  #onClosed(error: Error | undefined): void {
    this.#identity?.streams.close(error ?? new MuxError(ErrorCode.SessionClosed, 'The session is closed.'))
    // An orderly end comes with GOAWAY. After anything else, and after a restart, the agent reclaims its names.
    const orderly = error === undefined || (error instanceof MuxError && error.code === ErrorCode.RemoteGone)
    const cause = orderly && !this.#restarting ? 'orderly' : 'lost'
    const reason = orderly ? undefined : error.message
    if (this.#identity !== undefined) this.#options.registry.removeSession(this, cause, reason)
    this.#options.onClose()
  }
}

function emptyExtra(version: string): AuthResponse['Extra'] {
  return {
    Version: version,
    Region: '',
    Cookie: '',
    AccountName: '',
    PlanName: '',
    Banner: '',
    SessionDuration: 0,
    DeprecationWarning: null,
    ConnectAddresses: [],
    AgentSessionID: '',
  }
}

/** The options of a tunnel with another traffic policy; the same ones when the patch names none. */
function patchedOptions(
  { address: { proto }, options }: LiveTunnel,
  policy: string | undefined,
): EndpointOptions {
  // The edge of a labelled tunnel has the policy.
  if (policy === undefined || proto === undefined) return options
  const { trafficPolicy: _, ...others } = options
  return { ...others, ...parseTrafficPolicy(proto, policy) }
}
