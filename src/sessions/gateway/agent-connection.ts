import { randomBytes } from 'node:crypto'
import type { Duplex } from 'node:stream'
import { setTimeout as setTimer } from 'node:timers/promises'
import { isTokenShaped, type TunnelPrincipal } from '../../auth/index.ts'
import type { BufferPool } from '../../base/io/memory/buffer-pool.ts'
import type { ByteBudget } from '../../base/io/memory/byte-budget.ts'
import type { WindowBudget } from '../../base/io/memory/window-budget.ts'
import { newId } from '../../base/values/id.ts'
import {
  AuthRequest,
  type AuthResponse,
  decode,
  ErrorCode,
  type HeartbeatTimes,
  MIN_HEARTBEAT_MS,
  protocolError,
  ServedSession,
  StreamType,
} from '../../protocol/index.ts'
import { Leg } from '../session/legs.ts'
import type { LiveSession } from '../session/live-session.ts'
import { agentKind } from './agent-kind.ts'
import {
  type AgentSessionDependencies,
  LiveAgentSession,
  MAX_METADATA_BYTES,
  wireText,
} from './live-agent-session.ts'

/** Account details that agents display. */
interface AccountDescription {
  name: string
  plan: string
  banner: string
}

/** Dependencies and limits of an agent connection. */
export interface AgentConnectionOptions extends AgentSessionDependencies {
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
  describeAccount?(accountId: string): Promise<AccountDescription>
  /** Agent addresses of all nodes. */
  connectAddresses?(): readonly string[]
  /** How many workers share the address of the agent gateway. */
  workers?: number
  serverVersion: string
  pool: BufferPool
  /** Shared by the windows of all sessions. */
  windows: WindowBudget
  /** Charged for the bytes of unfinished messages. */
  budget: ByteBudget
  /** How long an incomplete message may stay pending. */
  messageTimeoutMs?: number | undefined
  /** The shortest accepted heartbeat interval and tolerance; for tests. */
  minHeartbeatMs?: number
  /** Delay before a token is checked, for addresses with failed logins. */
  authDelayMs(): number
  /** Admits a session of the account; false when it has reached its limit. */
  admitSession(accountId: string): boolean
  /** Admits a further leg of one of its sessions. */
  admitLeg(accountId: string): boolean
  onAuthFailure(): void
  onAuthenticated(): void
  onClose(): void
}

type Extra = NonNullable<AuthRequest['Extra']>
type Message = Record<string, unknown>

/** Legs of one session: more than a platform has nodes would be of no use. */
const MAX_LEGS = 16
const DEFAULT_HEARTBEAT_INTERVAL_NS = 10e9
const DEFAULT_HEARTBEAT_TOLERANCE_NS = 15e9

/** Upper limit of the silence timeout, whatever the agent asks for: a dead agent must not hold its names longer. */
const MAX_SILENCE_MS = 300_000

/** Time for a rejected agent to read the error before the connection closes. */
const REJECT_LINGER_MS = 1000

/** One agent connection from its first byte: authenticates, then is a leg of a new session or of one that it joins. */
export class AgentConnection {
  readonly #ip: string
  readonly #id: string
  readonly #options: AgentConnectionOptions
  readonly #session: ServedSession
  #joined: { readonly leg: Leg; readonly session: LiveSession; readonly opensLegs: boolean } | undefined
  #authenticating = false

  constructor(transport: Duplex, ip: string, options: AgentConnectionOptions) {
    this.#id = newId('ts', options.clock.now())
    this.#ip = ip
    this.#options = options
    this.#session = new ServedSession(transport, {
      onCall: (type, message) => this.#dispatch(type, message),
      onClose: (error) => this.#onClosed(error),
      onStreamsClosed: (count) => this.#joined?.leg.streams.onStreamsClosed(count),
      onInternalError: (error) =>
        options.log.error({ err: error, session: this.#id }, 'agent session failed'),
      clock: options.clock,
      pool: options.pool,
      budget: options.budget,
      messageTimeoutMs: options.messageTimeoutMs,
    })
  }

  /** Sends the reason to the agent and closes the connection. */
  end(reason: string): void {
    this.#session.close(ErrorCode.NoError, reason)
  }

  /** Sends the current addresses to an agent that opens legs to them, once for each session. */
  announceAddresses(): void {
    const { leg, session, opensLegs } = this.#joined ?? {}
    if (!opensLegs || session?.remote || session?.legs?.first !== leg) return
    // An agent of the previous release does not know this message.
    this.#session
      .command(StreamType.ConnectAddresses, { ConnectAddresses: this.#connectAddresses() })
      .catch((error) => this.#options.log.debug({ err: error, session: this.#id }, 'addresses not announced'))
  }

  /** Asks an agent whose session began here to start its next one elsewhere; resolves once that has its tunnels. */
  async move(addresses: readonly string[]): Promise<void> {
    const { leg, session, opensLegs } = this.#joined ?? {}
    if (opensLegs && session instanceof LiveAgentSession && session.legs.first === leg)
      await session.move(addresses)
  }

  #dispatch(type: number, message: Message): Promise<object> | object {
    if (type === StreamType.SrvInfo) return { Region: this.#options.region }
    if (type === StreamType.Auth) return this.#handleAuth(message)
    if (this.#joined === undefined) throw protocolError('not_authenticated')
    const { session } = this.#joined
    if (!(session instanceof LiveAgentSession)) throw protocolError('session_at_other_node')
    return session.serve(type, message)
  }

  async #handleAuth(message: Message): Promise<AuthResponse> {
    try {
      return await this.#authenticate(decode(AuthRequest, message, 'auth_undecodable'))
    } catch (error) {
      // SDKs cannot decode an error without the fields of a success, and need time to read it before the close.
      const text = wireText(error, this.#options.log, this.#id)
      setTimeout(() => {
        if (this.#joined === undefined) this.#session.close(ErrorCode.NoError, 'authentication failed')
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
    const extra = request.Extra ?? {}
    const heartbeat = this.#heartbeatOf(extra)
    if (Buffer.byteLength(extra.Metadata ?? '') > MAX_METADATA_BYTES) throw protocolError('metadata_too_long')
    if (this.#authenticating) throw protocolError('message_undecodable', 'Auth may be sent once.')
    this.#authenticating = true

    const changeCount = this.#options.registry.credentialChangeCount
    const principal = await this.#verifyToken(extra.Authtoken ?? '')
    if (this.#options.admits?.(principal.accountId, this.#ip) === false)
      throw protocolError('address_refused', this.#ip)
    this.#requireIngress(principal.accountId)
    const account = await this.#options.describeAccount?.(principal.accountId)
    if (this.#session.closed) throw protocolError('unavailable')
    const session =
      extra.AgentSessionID === undefined
        ? this.#startSession(principal, request, changeCount)
        : this.#findSession(principal, request, extra.AgentSessionID)
    this.#joinAs(session, extra, heartbeat)
    // Streams may be opened at once on a further leg, and must not arrive before the response.
    if (extra.AgentSessionID === undefined) await this.#options.registry.published()
    return this.#authResponse(session, extra, account)
  }

  async #verifyToken(token: string): Promise<TunnelPrincipal> {
    const { authDelayMs, authenticate, isApiKey, onAuthFailure } = this.#options
    const delayMs = authDelayMs()
    if (delayMs > 0) await setTimer(delayMs)
    const principal = await authenticate(token)
    if (principal !== undefined) return principal
    onAuthFailure()
    if (!isTokenShaped(token)) throw protocolError('token_malformed')
    throw protocolError((await isApiKey?.(token)) ? 'token_is_api_key' : 'token_unknown')
  }

  /** Registers a new session of the agent. */
  #startSession(
    principal: TunnelPrincipal,
    { ClientId = '', Extra }: AuthRequest,
    changeCount: number,
  ): LiveSession {
    const { resume, registry, clock, serverName, serverIp, admitSession } = this.#options
    if (!admitSession(principal.accountId)) throw protocolError('too_many_sessions')
    const { Authtoken: _secret, ...extra } = Extra ?? {}
    const { credentialId } = principal
    const provenFence =
      ClientId === '' ? undefined : resume.verifyCookie(extra.Cookie ?? '', credentialId, ClientId)
    const clientId = provenFence === undefined ? randomBytes(16).toString('hex') : ClientId
    const session = new LiveAgentSession(
      {
        id: this.#id,
        principal,
        clientId,
        fence: registry.nextFence(credentialId, clientId, provenFence ?? 0),
        extra,
        startedAt: clock.now(),
        ip: this.#ip,
        ingressHostname: serverName ?? '',
        ingressIp: serverIp,
      },
      this.#options,
    )
    registry.addSession(session, changeCount)
    return session
  }

  /** The session that the agent names, if the cookie proves that it is its own. */
  #findSession(principal: TunnelPrincipal, { ClientId = '', Extra }: AuthRequest, id: string): LiveSession {
    const { resume, registry, admitLeg } = this.#options
    const session = registry.session(principal.accountId, id)
    const fence = resume.verifyCookie(Extra?.Cookie ?? '', principal.credentialId, ClientId)
    if (
      session?.legs === undefined ||
      session.credentialId !== principal.credentialId ||
      session.clientId !== ClientId ||
      session.fence !== fence ||
      (Extra?.LegNumber ?? 0) >= MAX_LEGS
    )
      throw protocolError('session_unknown')
    if (Extra?.Elsewhere === true && !session.remote) throw protocolError('leg_at_home')
    if (!admitLeg(principal.accountId)) throw protocolError('too_many_legs')
    return session
  }

  #joinAs(session: LiveSession, extra: Extra, { intervalMs, toleranceMs }: HeartbeatTimes): void {
    const { region, clock } = this.#options
    const { firstParty, limits } = agentKind(extra)
    const number = extra.LegNumber ?? 0
    const view = { number, ip: this.#ip, region, startedAt: clock.now() }
    const leg = new Leg(this.#session, view, limits, toleranceMs)
    this.#joined = { leg, session, opensLegs: extra.MaxLegs !== undefined }
    session.legs?.add(leg)
    if (extra.Notes === true) this.#session.enableNotes()
    this.#session.authenticated(Math.min(intervalMs + toleranceMs, MAX_SILENCE_MS), firstParty)
    this.#options.onAuthenticated()
  }

  #authResponse(session: LiveSession, extra: Extra, account: AccountDescription | undefined): AuthResponse {
    const { resume, windows, region, serverVersion, workers = 1 } = this.#options
    const budget = session.legs?.shareWindows(windows) ?? windows.forSession()
    const maxWindow = this.#session.agreeOnWindows(extra.MaxWindow, budget)
    return {
      Version: '3',
      ClientId: session.clientId,
      Error: '',
      Extra: {
        ...emptyExtra(serverVersion),
        Region: region,
        Cookie: resume.createCookie(session.credentialId, session.clientId, session.fence ?? 0),
        AccountName: account?.name ?? '',
        PlanName: account?.plan ?? '',
        Banner: account?.banner ?? '',
        AgentSessionID: session.id,
        // Other agents would open a connection to each address.
        ConnectAddresses: agentKind(extra).firstParty ? this.#connectAddresses() : [],
        ...(extra.MaxWindow !== undefined && { MaxWindow: maxWindow }),
        ...(extra.MaxLegs !== undefined && { MaxLegs: Math.min(extra.MaxLegs, MAX_LEGS) }),
        ...(extra.MaxLegs !== undefined && workers > 1 && { Workers: workers }),
        ...(session.remote && { Elsewhere: true }),
      },
    }
  }

  #connectAddresses(): { Region: string; ServerAddr: string }[] {
    const { connectAddresses, region } = this.#options
    return (connectAddresses?.() ?? []).map((ServerAddr) => ({ Region: region, ServerAddr }))
  }

  /** Exactly what the agent asked for, since P14 promises that a dead one is noticed within 25 s by default. */
  #heartbeatOf({ HeartbeatInterval, HeartbeatTolerance }: Extra): HeartbeatTimes {
    const minMs = this.#options.minHeartbeatMs ?? MIN_HEARTBEAT_MS
    const intervalMs = (HeartbeatInterval || DEFAULT_HEARTBEAT_INTERVAL_NS) / 1e6
    const toleranceMs = (HeartbeatTolerance || DEFAULT_HEARTBEAT_TOLERANCE_NS) / 1e6
    if (intervalMs < minMs) throw protocolError('heartbeat_interval')
    if (toleranceMs < minMs) throw protocolError('heartbeat_tolerance')
    return { intervalMs, toleranceMs }
  }

  #onClosed(error: Error | undefined): void {
    if (this.#joined !== undefined) this.#joined.session.legs?.remove(this.#joined.leg, error)
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
