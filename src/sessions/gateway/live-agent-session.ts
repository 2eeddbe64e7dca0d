import { type Acl, compileAcl, type TunnelPrincipal } from '../../auth/index.ts'
import type { Logger } from '../../base/process/log.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import type { Clock } from '../../base/values/clock.ts'
import type { EndpointAddress } from '../../naming/index.ts'
import {
  type AuthRequest,
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
  rawField,
  StreamType,
  UnbindRequest,
} from '../../protocol/index.ts'
import type { Binder } from '../bind/bind.ts'
import { responseOpts } from '../bind/bind-response.ts'
import { parseTrafficPolicy, trafficPolicyWarnings } from '../bind/endpoint-options.ts'
import type { Registry } from '../registry/registry.ts'
import { Legs, type LegTimes } from '../session/legs.ts'
import {
  type Command,
  type CommandOutcome,
  type LiveSession,
  PROBE_TIMEOUT_MS,
  type ProbeOutcome,
} from '../session/live-session.ts'
import type { LiveTunnel, TunnelSpec } from '../session/live-tunnel.ts'
import type { ResumeTokens } from '../session/resume.ts'
import type { SessionState } from '../session/states.ts'
import type { EndpointOptions } from '../tunnel.ts'
import { agentKind } from './agent-kind.ts'

/** Dependencies of the session of an agent. */
export interface AgentSessionDependencies {
  registry: Registry
  binder: Binder
  resume: ResumeTokens
  region: string
  log: Logger
  clock: Clock
  /** Whether browsers do not trust the certificate of a host, although they trust that of the platform. */
  lacksCertificate?(host: string): boolean
  /** How long the agent may take to answer a probe. */
  probeTimeoutMs?: number
  /** For tests. */
  legTimes?: Partial<LegTimes>
}

/** Who an agent is: its principal, what its Auth said, and where its first connection came from and went to. */
export interface AgentDescription {
  readonly id: string
  readonly principal: TunnelPrincipal
  readonly clientId: string
  readonly fence: number
  /** Without the token. */
  readonly extra: Omit<NonNullable<AuthRequest['Extra']>, 'Authtoken'>
  readonly startedAt: number
  readonly ip: string
  readonly ingressHostname: string
  readonly ingressIp: string
}

type Message = Record<string, unknown>

/** The most metadata that an agent may give its session or a tunnel. */
export const MAX_METADATA_BYTES = 4096

/** Errors of the ACL: a reconnecting agent must not lose all its tunnels because one is now forbidden (decision 32). */
const ACL_ERRORS = new Set<number | undefined>([
  protocolErrors.name_forbidden.number,
  protocolErrors.address_forbidden.number,
  protocolErrors.random_address_forbidden.number,
])

const uncoveredText = (host: string) =>
  `Browsers do not trust the certificate of ${host}: that of the server covers names directly below its domain. Use such a name, or reserve this one and attach a certificate.`

const PROBE_FAILED_REASON = 'The agent did not answer a probe.'

/** The session of an agent that is connected to this process, over one leg or several: serves its calls, sends its commands. */
export class LiveAgentSession implements LiveSession {
  readonly id: string
  readonly accountId: string
  readonly credentialId: string
  readonly ownerId: string
  readonly clientId: string
  readonly fence: number
  readonly agentVersion: string
  readonly os: string
  readonly arch: string
  readonly hostname: string
  readonly userAgent: string
  readonly ip: string
  readonly ingressHostname: string
  readonly ingressIp: string
  readonly metadata: string
  readonly startedAt: number
  readonly region: string
  readonly transport = 'adit/v2'
  readonly legs: Legs
  acl: Acl
  readonly #options: AgentSessionDependencies
  readonly #extra: AgentDescription['extra']
  state: SessionState = 'connecting'
  #restarting = false
  /** The session has ended, or its agent's next one has its tunnels. */
  readonly #left = Promise.withResolvers<void>()
  #probing: Promise<ProbeOutcome> | undefined
  /** What ended the last leg to this process. */
  #lostBy: Error | undefined

  constructor(agent: AgentDescription, options: AgentSessionDependencies) {
    const { principal, extra } = agent
    this.id = agent.id
    this.accountId = principal.accountId
    this.credentialId = principal.credentialId
    this.ownerId = principal.ownerId
    this.clientId = agent.clientId
    this.fence = agent.fence
    this.agentVersion = extra.Version ?? ''
    this.os = extra.OS ?? ''
    this.arch = extra.Arch ?? ''
    this.hostname = extra.Hostname ?? ''
    this.userAgent = extra.UserAgent ?? ''
    this.ip = agent.ip
    this.ingressHostname = agent.ingressHostname
    this.ingressIp = agent.ingressIp
    this.metadata = extra.Metadata ?? ''
    this.startedAt = agent.startedAt
    this.region = options.region
    this.acl = compileAcl(principal.acl)
    this.#extra = extra
    this.#options = options
    this.legs = new Legs({
      clock: options.clock,
      times: options.legTimes,
      minLegs: 1,
      onChange: () => this.#onLegsChanged(),
      onLastClosed: (error) => this.#onLastLegClosed(error),
    })
  }

  /** Streams on the legs of a session that moves may end by themselves; the gateway closes the legs after them. */
  end(reason: string): void {
    this.#left.resolve()
    if (this.state === 'moving' || this.state === 'moved') return
    if (this.legs.all.length > 0) this.legs.close(ErrorCode.NoError, reason)
    else this.#options.registry.removeSession(this, 'lost', reason)
  }

  onRemoteLegs(): void {
    const { registry } = this.#options
    if (this.state === 'orphaned' && !registry.hasRemoteLegs(this))
      registry.removeSession(this, 'lost', this.#lostBy?.message)
  }

  /** Asks the agent to start its next session at one of these addresses; resolves once that has its tunnels. */
  async move(addresses: readonly string[]): Promise<void> {
    const ConnectAddresses = addresses.map((ServerAddr) => ({ Region: this.region, ServerAddr }))
    const before = this.state
    if (before !== 'online' && before !== 'superseded') return
    this.state = 'moving'
    try {
      await this.legs.first?.session.command(StreamType.Move, { ConnectAddresses })
      await this.#left.promise
    } catch (error) {
      if (this.state === 'moving') this.state = before
      this.#options.log.debug({ err: error, session: this.id }, 'agent not moved')
    }
  }

  tunnelEnded(tunnel: LiveTunnel, reason: string): void {
    this.legs.first?.session.stopTunnel(tunnel.bindId, reason, null)
  }

  probe(): Promise<ProbeOutcome> {
    this.#probing ??= this.#probeOnce().finally(() => {
      this.#probing = undefined
    })
    return this.#probing
  }

  async command(command: Command): Promise<CommandOutcome> {
    const { RestartUnsupportedError, StopUnsupportedError, UpdateUnsupportedError } = this.#extra
    const unsupported = {
      restart: RestartUnsupportedError,
      stop: StopUnsupportedError,
      update: UpdateUnsupportedError,
    }[command]
    if (unsupported !== '') {
      const reason = unsupported ?? `The agent is too old to know the command ${command}.`
      return { done: false, because: 'unsupported', reason }
    }
    const leg = this.legs.first
    if (leg === undefined) return { done: false, because: 'lost', reason: 'The session has ended.' }
    this.#restarting = command === 'restart'
    const type = { restart: StreamType.Restart, stop: StreamType.Stop, update: StreamType.Update }[command]
    try {
      await leg.session.command(type, command === 'update' ? { Version: '', PermitMajorVersion: false } : {})
      return { done: true }
    } catch (error) {
      const because = error instanceof ProtocolError ? 'failed' : 'lost'
      return { done: false, because, reason: errorMessage(error) }
    }
  }

  /** Serves a call that arrived on any of its legs. */
  serve(type: number, message: Message): Promise<object> | object {
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

  async #probeOnce(): Promise<ProbeOutcome> {
    const timeoutMs = this.#options.probeTimeoutMs ?? PROBE_TIMEOUT_MS
    if (await this.legs.probe(timeoutMs)) return 'alive'
    const error = new MuxError(ErrorCode.PeerEof, PROBE_FAILED_REASON)
    // Removed here, not when the connection closes: the caller claims the names next.
    this.#options.registry.removeSession(this, 'lost', PROBE_FAILED_REASON)
    this.legs.destroy(error)
    return 'gone'
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
      const tunnel = await binder.bind(this, request, this.#open)
      const Token = resume.createBindToken(this.credentialId, tunnel.address.url)
      return {
        Id: tunnel.bindId,
        URL: tunnel.address.url,
        Proto: request.Proto,
        Extra: { Token, TunnelID: tunnel.id, ...this.#warningsAbout(tunnel) },
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

  /** Review takes time, so agents that would not show what it finds do without. */
  #warningsAbout({ address, options: { trafficPolicy } }: LiveTunnel<EndpointAddress>) {
    if (!agentKind(this.#extra).firstParty) return {}
    const Warnings = trafficPolicy === undefined ? [] : trafficPolicyWarnings(address.proto, trafficPolicy)
    const { host, proto } = address
    if (proto === 'https' && this.#options.lacksCertificate?.(host) === true)
      Warnings.push(uncoveredText(host))
    return Warnings.length === 0 ? {} : { Warnings }
  }

  #open: TunnelSpec['open'] = (tunnel, client) => this.#options.registry.openOnLeg(this.legs, tunnel, client)

  async #handleBindLabels(message: Message): Promise<object> {
    try {
      const request = decode(LabelRequest, message)
      const { binder } = this.#options
      const tunnel = await binder.bindLabels(this, request, this.#open)
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

  async #handlePatch(message: Message): Promise<object> {
    const patch = decode(PatchRequest, message)
    const tunnel = this.#options.registry.tunnelsIn(this).find(({ id }) => id === patch.TunnelId)
    if (tunnel === undefined) throw protocolError('tunnel_unknown', patch.TunnelId)
    if (Buffer.byteLength(patch.Metadata ?? '') > MAX_METADATA_BYTES) {
      throw protocolError('options_invalid', `Metadata is longer than ${MAX_METADATA_BYTES} bytes.`)
    }
    if (Buffer.byteLength(patch.Name ?? '') > 255 || Buffer.byteLength(patch.Description ?? '') > 255) {
      throw protocolError('options_invalid', 'Name and Description have at most 255 bytes.')
    }
    const options = await this.#patchedOptions(tunnel, patch.TrafficPolicy)
    if (patch.PoolingEnabled !== undefined) this.#options.binder.setPooled(tunnel, patch.PoolingEnabled)
    this.#options.registry.patch(this, tunnel.bindId, {
      name: patch.Name ?? tunnel.name,
      description: patch.Description ?? tunnel.description,
      metadata: patch.Metadata ?? tunnel.metadata,
      poolingWeight: patch.PoolingWeight ?? tunnel.poolingWeight,
      options,
      updatedAt: this.#options.clock.now(),
    })
    await this.#options.registry.published()
    return { Error: '' }
  }

  /** The options of a tunnel with another traffic policy; the same ones when the patch names none. */
  async #patchedOptions(
    { address, options }: LiveTunnel,
    policy: string | undefined,
  ): Promise<EndpointOptions> {
    // The edge of a labelled tunnel has the policy.
    if (policy === undefined || address.proto === undefined) return options
    const { trafficPolicy: _, ...others } = options
    const patched = { ...others, ...parseTrafficPolicy(address.proto, policy) }
    await this.#options.binder.requirePolicy(this, patched, address)
    return patched
  }

  #wireText(error: unknown): string {
    return wireText(error, this.#options.log, this.id)
  }

  #onLegsChanged(): void {
    if (this.state === 'orphaned' && this.legs.all.length > 0) this.state = 'online'
    this.#options.registry.legsChanged(this)
  }

  #onLastLegClosed(error: Error | undefined): void {
    this.#left.resolve()
    // An orderly end comes with GOAWAY. After anything else, and after a restart, the agent reclaims its names.
    const orderly = error === undefined || (error instanceof MuxError && error.code === ErrorCode.RemoteGone)
    const { registry } = this.#options
    if (!orderly && registry.has(this) && registry.hasRemoteLegs(this)) {
      this.state = 'orphaned'
      this.#lostBy = error
      return
    }
    const end = orderly && !this.#restarting ? 'closed' : 'lost'
    registry.removeSession(this, end, orderly ? undefined : error.message)
  }
}

/** The text of an error for an agent; anything but a `ProtocolError` is a bug, which is logged. */
export function wireText(error: unknown, log: Logger, session: string): string {
  if (error instanceof ProtocolError) return error.wireText
  log.error({ err: error, session }, 'agent request failed')
  return protocolError('unavailable').wireText
}
