import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { setTimeout as setTimer } from 'node:timers/promises'
import { type Acl, compileAcl, isTokenShaped, type TunnelPrincipal } from '../auth/index.ts'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/id.ts'
import type { BufferPool } from '../base/io/buffer-pool.ts'
import type { ByteBudget } from '../base/io/byte-budget.ts'
import type { ByteStream } from '../base/io/stream.ts'
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
  proxyProtocolHeader,
  Refusal,
  rawField,
  refusal,
  refusals,
  ServedSession,
  StreamType,
  UnbindRequest,
} from '../protocol/index.ts'
import { agentKind } from './agent-kind.ts'
import { AgentStreams } from './agent-streams.ts'
import type { Binder } from './bind.ts'
import { answeredOpts } from './bind-response.ts'
import {
  type Command,
  type CommandOutcome,
  type LiveSession,
  PROBE_MS,
  type ProbeOutcome,
} from './live-session.ts'
import type { LiveTunnel } from './live-tunnel.ts'
import type { Registry } from './registry.ts'
import type { Resume } from './resume.ts'
import type { Visitor } from './tunnel.ts'

/** What a connection needs of the server around it. */
export interface AgentConnectionOptions {
  registry: Registry
  binder: Binder
  resume: Resume
  /** Who holds this token; undefined when nobody does. */
  authenticate(token: string): Promise<TunnelPrincipal | undefined>
  /** The name the agent dialled. */
  serverName?: string | undefined
  /** The address of ours it reached. */
  serverIp: string
  /** The account whose agent ingress has this name; only its agents may come through it. */
  ingressAccount?(serverName: string): string | undefined
  /** Whether the account lets agents connect from this address. */
  admits?(accountId: string, ip: string): boolean
  /** What agents show people about the account. */
  describeAccount?(accountId: string): Promise<{ name: string; plan: string; banner: string }>
  region: string
  /** Where agents reach the nodes of this platform. */
  connectAddresses?(): readonly string[]
  serverVersion: string
  log: Logger
  clock: Clock
  pool: BufferPool
  /** Charged for the bytes of unfinished messages. */
  budget: ByteBudget
  /** How long a message may take to arrive. */
  messageMs?: number | undefined
  /** Shorter heartbeats than 1 s are refused, and 3 s are added to the allowed silence; tests want less. */
  heartbeat?: { minMs: number; slackMs: number }
  /** How long the agent may take to give a sign of life when its name is asked for. */
  probeMs?: number
  /** How long the check of a token is put off now. */
  holdBackMs(): number
  /** Takes a place for a session of the account; false when it may hold no more. */
  takePlace(accountId: string): boolean
  /** The token was nobody's. */
  onUnknown(): void
  onAuthenticated(): void
  onClose(): void
}

type Extra = NonNullable<AuthRequest['Extra']>
type Message = Record<string, unknown>

const MAX_METADATA_BYTES = 4096
const MIN_HEARTBEAT_MS = 1000
const DEFAULT_INTERVAL_NS = 10e9
const DEFAULT_TOLERANCE_NS = 15e9

/** However patient an agent claims to be, its names are not held by silence for longer. */
const MAX_SILENCE_MS = 300_000

/** Time for a refused agent to read why, before the connection is closed under it. */
const REFUSED_LINGER_MS = 1000

/** Refusals of the ACL: an agent that merely comes back must not lose all its tunnels for one that is now forbidden. */
const ACL_REFUSALS = new Set<number | undefined>([
  refusals.name_forbidden.number,
  refusals.address_forbidden.number,
  refusals.random_address_forbidden.number,
])

const SILENT = 'The agent gave no sign of life when its name was asked for.'

const EDGE_TYPES: Record<Visitor['via'], string> = {
  endpoint: '0',
  'tcp-edge': '1',
  'tls-edge': '2',
  'https-edge': '3',
}

/** Who an authenticated connection belongs to. */
interface Identity {
  principal: TunnelPrincipal
  clientId: string
  fence: number
  extra: Extra
  startedAt: number
}

/** One agent's connection, from its first byte: answers its calls and, once it is known, is its session. */
export class AgentConnection implements LiveSession {
  readonly id: string
  readonly ip: string
  readonly transport = 'adit/v2'
  acl: Acl = compileAcl([])
  readonly #options: AgentConnectionOptions
  readonly #served: ServedSession
  #streams: AgentStreams | undefined
  #identity: Identity | undefined
  #authenticating = false
  #restarting = false
  #probing: Promise<ProbeOutcome> | undefined

  constructor(transport: Duplex, ip: string, options: AgentConnectionOptions) {
    this.id = newId('ts', options.clock.now())
    this.ip = ip
    this.#options = options
    this.#served = new ServedSession(transport, {
      onCall: (type, message) => this.#answer(type, message),
      onClose: (error) => this.#closed(error),
      onFreed: (count) => this.#streams?.freed(count),
      onBug: (error) => options.log.error({ err: error, session: this.id }, 'agent session made a mistake'),
      clock: options.clock,
      pool: options.pool,
      budget: options.budget,
      messageMs: options.messageMs,
    })
  }

  get authenticated(): boolean {
    return this.#identity !== undefined
  }

  get accountId(): string {
    return this.#known.principal.accountId
  }

  get credentialId(): string {
    return this.#known.principal.credentialId
  }

  get ownerId(): string {
    return this.#known.principal.ownerId
  }

  get clientId(): string {
    return this.#known.clientId
  }

  get fence(): number {
    return this.#known.fence
  }

  get agentVersion(): string {
    return this.#known.extra.Version ?? ''
  }

  get os(): string {
    return this.#known.extra.OS ?? ''
  }

  get arch(): string {
    return this.#known.extra.Arch ?? ''
  }

  get userAgent(): string {
    return this.#known.extra.UserAgent ?? ''
  }

  get ingressHostname(): string {
    return this.#options.serverName ?? ''
  }

  get ingressIp(): string {
    return this.#options.serverIp
  }

  get metadata(): string {
    return this.#known.extra.Metadata ?? ''
  }

  get startedAt(): number {
    return this.#known.startedAt
  }

  get region(): string {
    return this.#options.region
  }

  end(reason: string): void {
    this.#served.close(ErrorCode.NoError, reason)
  }

  destroy(error: Error): void {
    this.#served.destroy(error)
  }

  tunnelEnded(tunnel: LiveTunnel, reason: string): void {
    this.#served.stopTunnel(tunnel.bindId, reason, null)
  }

  probe(): Promise<ProbeOutcome> {
    this.#probing ??= this.#probeOnce().finally(() => {
      this.#probing = undefined
    })
    return this.#probing
  }

  async command(command: Command): Promise<CommandOutcome> {
    const { RestartUnsupportedError, StopUnsupportedError, UpdateUnsupportedError } = this.#known.extra
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
      await this.#served.command(type, command === 'update' ? { Version: '', PermitMajorVersion: false } : {})
      return { done: true }
    } catch (error) {
      const because = error instanceof Refusal ? 'failed' : 'lost'
      return { done: false, because, reason: (error as Error).message }
    }
  }

  async #probeOnce(): Promise<ProbeOutcome> {
    if (await this.#served.probe(this.#options.probeMs ?? PROBE_MS)) return 'alive'
    const error = new MuxError(ErrorCode.PeerEof, SILENT)
    // Here rather than when the connection has closed: whoever asked claims the names next.
    this.#options.registry.removeSession(this, 'lost', SILENT)
    this.destroy(error)
    return 'gone'
  }

  get #known(): Identity {
    if (this.#identity === undefined) throw refusal('not_authenticated')
    return this.#identity
  }

  #answer(type: number, message: Message): Promise<object> | object {
    if (type === StreamType.SrvInfo) return { Region: this.#options.region }
    if (type === StreamType.Auth) return this.#auth(message)
    if (this.#identity === undefined) throw refusal('not_authenticated')
    switch (type) {
      case StreamType.Bind:
        return this.#bind(message)
      case StreamType.StartTunnelWithLabel:
        return this.#bindLabels(message)
      case StreamType.Unbind:
        return this.#unbind(message)
      case StreamType.PatchTunnelState:
        return this.#patch(message)
      default:
        throw refusal('request_unknown', String(type))
    }
  }

  async #auth(message: Message): Promise<AuthResponse> {
    try {
      return await this.#welcome(decode(AuthRequest, message, 'auth_undecodable'))
    } catch (error) {
      // An SDK cannot read a refusal without the fields of a success; and it must be able to read it before the end.
      const text = this.#textOf(error)
      setTimeout(() => {
        if (this.#identity === undefined) this.#served.close(ErrorCode.NoError, 'authentication failed')
      }, REFUSED_LINGER_MS).unref()
      return { Version: '3', ClientId: '', Error: text, Extra: emptyExtra(this.#options.serverVersion) }
    }
  }

  #requireIngress(accountId: string): void {
    const { serverName, ingressAccount } = this.#options
    const owner = serverName === undefined ? undefined : ingressAccount?.(serverName)
    if (owner !== undefined && owner !== accountId) throw refusal('ingress_of_other_account', serverName!)
  }

  async #welcome(request: AuthRequest): Promise<AuthResponse> {
    const { resume, registry, authenticate, clock } = this.#options
    const extra = request.Extra ?? {}
    const silenceMs = this.#allowedSilence(extra)
    if (Buffer.byteLength(extra.Metadata ?? '') > MAX_METADATA_BYTES) throw refusal('metadata_too_long')
    if (this.#authenticating) throw refusal('message_undecodable', 'Auth may be sent once.')
    this.#authenticating = true

    const holdBackMs = this.#options.holdBackMs()
    if (holdBackMs > 0) await setTimer(holdBackMs)
    const token = extra.Authtoken ?? ''
    const since = registry.changeCount
    const principal = await authenticate(token)
    if (principal === undefined) {
      this.#options.onUnknown()
      throw refusal(isTokenShaped(token) ? 'token_unknown' : 'token_malformed')
    }
    if (this.#options.admits?.(principal.accountId, this.ip) === false)
      throw refusal('address_refused', this.ip)
    this.#requireIngress(principal.accountId)
    const account = await this.#options.describeAccount?.(principal.accountId)
    if (this.#served.over) throw refusal('unavailable')
    if (!this.#options.takePlace(principal.accountId)) throw refusal('too_many_sessions')

    const { credentialId } = principal
    const proved = request.ClientId
      ? resume.fenceOf(extra.Cookie ?? '', credentialId, request.ClientId)
      : undefined
    const clientId = proved === undefined ? randomBytes(16).toString('hex') : request.ClientId!
    const fence = registry.nextFence(credentialId, clientId, proved ?? 0)
    const { Authtoken: _secret, ...shown } = extra
    this.#identity = { principal, clientId, fence, extra: shown, startedAt: clock.now() }
    this.acl = compileAcl(principal.acl)
    try {
      registry.addSession(this, since)
    } catch (error) {
      this.#identity = undefined
      throw error
    }
    const { own, limits } = agentKind(extra)
    this.#streams = new AgentStreams(this.#served, limits)
    this.#served.trust(silenceMs, own)
    this.#options.onAuthenticated()
    return {
      Version: '3',
      ClientId: clientId,
      Error: '',
      Extra: {
        ...emptyExtra(this.#options.serverVersion),
        Region: this.#options.region,
        Cookie: resume.cookie(credentialId, clientId, fence),
        AccountName: account?.name ?? '',
        PlanName: account?.plan ?? '',
        Banner: account?.banner ?? '',
        AgentSessionID: this.id,
        // Other agents would open one more connection to each of them.
        ConnectAddresses: own ? this.#connectAddresses() : [],
      },
    }
  }

  #connectAddresses(): { Region: string; ServerAddr: string }[] {
    const { connectAddresses, region } = this.#options
    return (connectAddresses?.() ?? []).map((ServerAddr) => ({ Region: region, ServerAddr }))
  }

  /** Time without a word after which the agent counts as dead. */
  #allowedSilence({ HeartbeatInterval, HeartbeatTolerance }: Extra): number {
    const { minMs, slackMs } = this.#options.heartbeat ?? {
      minMs: MIN_HEARTBEAT_MS,
      slackMs: 0,
    }
    const intervalMs = (HeartbeatInterval || DEFAULT_INTERVAL_NS) / 1e6
    const toleranceMs = (HeartbeatTolerance || DEFAULT_TOLERANCE_NS) / 1e6
    if (intervalMs < minMs) throw refusal('heartbeat_interval')
    if (toleranceMs < minMs) throw refusal('heartbeat_tolerance')
    return Math.min(intervalMs + toleranceMs + slackMs, MAX_SILENCE_MS)
  }

  async #bind(message: Message): Promise<BindResponse> {
    const requested = rawField(message, 'Opts')
    let proto = ''
    try {
      const request = decode(BindRequest, message)
      proto = request.Proto
      const bound = await this.#bindOrKeepQuiet(request)
      return { ...bound, Opts: answeredOpts(proto, requested, bound.URL), Error: '' }
    } catch (error) {
      // As with Auth: the fields of a success have to be there.
      return {
        Id: '',
        URL: '',
        Proto: proto,
        Opts: answeredOpts(proto, requested),
        Error: this.#textOf(error),
        Extra: { Token: '', TunnelID: '' },
      }
    }
  }

  async #bindOrKeepQuiet(request: BindRequest): Promise<Omit<BindResponse, 'Opts' | 'Error'>> {
    const { binder, resume } = this.#options
    try {
      const tunnel = await binder.bind(this, request, (...visit) => this.#open(...visit))
      const Token = resume.bindToken(this.credentialId, tunnel.url!)
      return {
        Id: tunnel.bindId,
        URL: tunnel.url!,
        Proto: request.Proto,
        Extra: { Token, TunnelID: tunnel.id },
      }
    } catch (error) {
      const Token = request.Extra?.Token ?? ''
      const URL = resume.boundUrl(Token, this.credentialId)
      const forgivable = error instanceof Refusal && ACL_REFUSALS.has(error.number)
      if (!forgivable || !request.Id || URL === undefined) throw error
      // Refusing a repeated bind would keep the agent from coming back at all, so it is accepted and not routed.
      return { Id: request.Id, URL, Proto: request.Proto, Extra: { Token, TunnelID: '' } }
    }
  }

  #bindLabels(message: Message): object {
    try {
      const request = decode(LabelRequest, message)
      const tunnel = this.#options.binder.bindLabels(this, request, (...visit) => this.#open(...visit))
      return { Id: tunnel.bindId, Error: '' }
    } catch (error) {
      return { Id: '', Error: this.#textOf(error) }
    }
  }

  async #unbind(message: Message): Promise<object> {
    const { Id } = decode(UnbindRequest, message)
    await this.#options.binder.unbind(this, Id)
    return { Error: '', Extra: null }
  }

  #patch(message: Message): object {
    const patch = decode(PatchRequest, message)
    const tunnel = this.#options.registry.tunnelsIn(this).find(({ id }) => id === patch.TunnelId)
    if (tunnel === undefined) throw refusal('tunnel_unknown', patch.TunnelId)
    if (patch.TrafficPolicy) throw refusal('options_invalid', 'traffic policies are not supported.')
    if (Buffer.byteLength(patch.Metadata ?? '') > MAX_METADATA_BYTES) {
      throw refusal('options_invalid', `Metadata is longer than ${MAX_METADATA_BYTES} bytes.`)
    }
    if (Buffer.byteLength(patch.Name ?? '') > 255 || Buffer.byteLength(patch.Description ?? '') > 255) {
      throw refusal('options_invalid', 'Name and Description have at most 255 bytes.')
    }
    tunnel.name = patch.Name ?? tunnel.name
    tunnel.description = patch.Description ?? tunnel.description
    tunnel.metadata = patch.Metadata ?? tunnel.metadata
    if (patch.PoolingEnabled !== undefined) this.#options.binder.setPooled(tunnel, patch.PoolingEnabled)
    tunnel.updatedAt = this.#options.clock.now()
    return { Error: '' }
  }

  #open(tunnel: LiveTunnel, visitor: Visitor): ByteStream {
    const { proxyProto } = tunnel.options
    const header = {
      Id: tunnel.bindId,
      ClientAddr: visitor.clientAddress,
      Proto: visitor.proto,
      EdgeType: EDGE_TYPES[visitor.via],
      PassthroughTLS: visitor.passthroughTls,
    }
    const first =
      proxyProto === 0
        ? undefined
        : proxyProtocolHeader(proxyProto, visitor.clientAddress, visitor.serverAddress)
    return this.#streams!.open(header, first)
  }

  #textOf(error: unknown): string {
    if (error instanceof Refusal) return error.text
    this.#options.log.error({ err: error, session: this.id }, 'agent request failed')
    return refusal('unavailable').text
  }

  #closed(error: Error | undefined): void {
    this.#streams?.end(error ?? new MuxError(ErrorCode.SessionClosed, 'The session is over.'))
    // Goodbye is said with GOAWAY; after anything else, and after a restart, the agent will want its names back.
    const goodbye = error === undefined || (error instanceof MuxError && error.code === ErrorCode.RemoteGone)
    const ending = goodbye && !this.#restarting ? 'orderly' : 'lost'
    const why = goodbye ? undefined : error.message
    if (this.#identity !== undefined) this.#options.registry.removeSession(this, ending, why)
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
