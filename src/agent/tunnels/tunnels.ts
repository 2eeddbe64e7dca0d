import { setTimeout as delay } from 'node:timers/promises'
import { BufferedStream } from '../../base/io/streams/buffered-stream.ts'
import type { ByteStream } from '../../base/io/streams/stream.ts'
import type { Clock } from '../../base/values/clock.ts'
import { ProtocolError, type ProxyHeader, RETRYABLE_ERRORS } from '../../protocol/index.ts'
import type { ServerConnection } from '../connect/connection.ts'
import type { LeggedSession } from '../connect/legged-session.ts'
import type { Forwarder } from '../forward/forwarder.ts'
import type { AgentLog } from '../log/log.ts'
import type { AgentTunnelSpec, BindSpec } from '../spec/spec.ts'
import { SpecError } from '../spec/spec-error.ts'
import { toBindRequest, toLabelRequest, tunnelNames } from './bind-request.ts'
import { AgentTunnel, type Binding } from './tunnel.ts'

const SESSION_CLOSED = 'session closed'

/** The server rejected the bind, or the session ended before it responded. */
export class StartError extends Error {
  override name = 'StartError'
  /** The server's error code, if any. */
  readonly code: string | undefined
  /** How long retrying may help; 0 when the error is permanent. */
  readonly retryMs: number

  constructor(message: string, code?: string, retryMs = 0) {
    super(message)
    this.code = code
    this.retryMs = retryMs
  }
}

/** What the tunnels need from the agent. */
export interface TunnelsDependencies {
  connection: () => ServerConnection
  forwarder: Forwarder
  clock: Clock
  log: AgentLog
  /** How long a start waits for a session. */
  sessionWaitMs: number
  /** The list or an address changed. */
  onChange(): void
  /** Tells the user what a running tunnel may not do as expected. */
  warn(text: string): void
}

const REBIND_INTERVAL_MS = 5000
/** Retry interval for errors that resolve by themselves. */
const RETRY_INTERVAL_MS = 1000

/** The running tunnels of an agent, by name and by binding id. */
export class Tunnels {
  readonly #dependencies: TunnelsDependencies
  readonly #byName = new Map<string, AgentTunnel>()
  readonly #byBinding = new Map<string, AgentTunnel>()
  /** Names of tunnels that are starting. */
  readonly #reserved = new Set<string>()
  #rebindTimer: NodeJS.Timeout | undefined
  /** Why a starting tunnel still waits. */
  waitReason: string | undefined

  constructor(dependencies: TunnelsDependencies) {
    this.#dependencies = dependencies
  }

  list(): AgentTunnel[] {
    return [...this.#byName.values()]
  }

  get(name: string): AgentTunnel | undefined {
    return this.#byName.get(name)
  }

  /**
   * Starts a tunnel, or two when it serves both schemes; returns the first. A failure releases its names. With
   * `previous` it takes over that tunnel's id, and its address unless the spec requests another.
   */
  async start(
    spec: AgentTunnelSpec,
    sessionWaitMs: number = this.#dependencies.sessionWaitMs,
    previous?: AgentTunnel,
  ): Promise<AgentTunnel> {
    const names = tunnelNames(spec)
    for (const name of names) {
      if (this.#byName.has(name) || this.#reserved.has(name))
        throw new SpecError('name', `tunnel "${name}" already exists`)
    }
    for (const name of names) this.#reserved.add(name)
    const startedTunnels: AgentTunnel[] = []
    let warnings: readonly string[] = []
    try {
      const session = await this.#dependencies.connection().session(sessionWaitMs)
      warnings = await this.#bindAll(session, spec, names, startedTunnels, previous).catch(async (error) => {
        await this.#unbind(startedTunnels)
        throw toStartError(error)
      })
    } finally {
      for (const name of names) this.#reserved.delete(name)
    }
    for (const tunnel of startedTunnels) this.#logStarted(tunnel)
    this.#dependencies.onChange()
    for (const warning of warnings) this.#dependencies.warn(`The traffic policy of ${spec.name}: ${warning}`)
    return startedTunnels[0]!
  }

  /**
   * Starts a tunnel like `start`, but waits indefinitely for the first session and retries while the server's
   * rejection is temporary. `waitReason` says why meanwhile.
   */
  async startWithRetry(spec: AgentTunnelSpec): Promise<AgentTunnel> {
    const { clock, log, onChange } = this.#dependencies
    const startedAt = clock.monotonic()
    try {
      for (;;) {
        try {
          return await this.start(spec, Number.POSITIVE_INFINITY)
        } catch (error) {
          if (!(error instanceof StartError)) throw error
          // The session was lost during the bind: retry in the next one.
          if (error.message === SESSION_CLOSED) continue
          if (clock.monotonic() - startedAt >= error.retryMs) throw error
          if (this.waitReason !== error.message)
            log.warn('waiting to start tunnel', { obj: 'tunnels', name: spec.name, err: error.message })
          this.waitReason = error.message
          onChange()
          await delay(RETRY_INTERVAL_MS)
        }
      }
    } finally {
      this.waitReason = undefined
      onChange()
    }
  }

  /** Replaces a running tunnel; when the new one cannot start, the previous one is restored. */
  async replace(previous: AgentTunnel, spec: AgentTunnelSpec): Promise<AgentTunnel> {
    // Stop nothing without a session: nothing could be started again.
    await this.#dependencies.connection().session(this.#dependencies.sessionWaitMs)
    await this.stop(previous.name)
    try {
      return await this.start(spec, undefined, previous)
    } catch (error) {
      const previousSpec = {
        ...previous.spec,
        name: previous.name,
        binds: previous.bind ? [previous.bind] : [],
      }
      await this.start(previousSpec, undefined, previous).catch((failure) =>
        this.#dependencies.log.error('failed to restore tunnel', {
          obj: 'tunnels',
          name: previous.name,
          err: failure,
        }),
      )
      throw error
    }
  }

  /** Stops a tunnel; returns false when there is none by that name. */
  async stop(name: string): Promise<boolean> {
    const tunnel = this.#byName.get(name)
    if (!tunnel) return false
    await this.#unbind([tunnel])
    this.#dependencies.onChange()
    return true
  }

  /** Removes a tunnel stopped by the server; it is not rebound. */
  handleServerStop(bindingId: string, message: string, code: string | undefined): void {
    const tunnel = this.#byBinding.get(bindingId)
    if (!tunnel) return
    this.#remove(tunnel)
    this.#dependencies.log.error('tunnel stopped by the server', {
      obj: 'tunnels',
      name: tunnel.name,
      err: message,
      code,
    })
    this.#dependencies.onChange()
  }

  /** Accepts a client connection. */
  accept(header: ProxyHeader, stream: ByteStream): void {
    const tunnel = this.#byBinding.get(header.Id)
    if (tunnel) {
      tunnel.route.accept(header, stream)
      return
    }
    // A client may arrive in the same packet as the BindResponse, which is processed by the end of this tick.
    const buffered = new BufferedStream(stream)
    setImmediate(() => {
      const bound = this.#byBinding.get(header.Id)
      if (!bound) {
        stream.reset(new Error('There is no such tunnel here.'))
        return
      }
      bound.route.accept(header, buffered)
      buffered.flush()
    })
  }

  /** Rebinds everything in a new session, under the same names. */
  async attach(session: LeggedSession): Promise<void> {
    clearTimeout(this.#rebindTimer)
    await Promise.all(this.list().map((tunnel) => this.#rebind(session, tunnel)))
    this.#dependencies.onChange()
  }

  /** Unbinds everything, if there is a session. */
  async close(): Promise<void> {
    clearTimeout(this.#rebindTimer)
    await this.#unbind(this.list())
  }

  /** The bindings a successor process needs to keep the same addresses. */
  bindings(): Map<string, Binding> {
    return new Map(this.list().map((tunnel) => [tunnel.name, tunnel.binding]))
  }

  /** Bindings of a previous process, requested again by tunnels of the same names. */
  resumeBindings: ReadonlyMap<string, Binding> = new Map()

  async #bindAll(
    session: LeggedSession,
    spec: AgentTunnelSpec,
    names: string[],
    startedTunnels: AgentTunnel[],
    previous: AgentTunnel | undefined,
  ): Promise<readonly string[]> {
    if (spec.labels) {
      this.#add(spec, names[0]!, undefined, await bindLabels(session, spec), startedTunnels, previous?.id)
      return []
    }
    let host: string | undefined
    // Of the same policy, whichever bind it came with.
    let found: readonly string[] = []
    for (const [index, bind] of spec.binds.entries()) {
      const name = names[index]!
      // The second bind requests the random name that the first was assigned.
      const request = host === undefined ? bind : withHost(bind, host)
      const previousBinding =
        previous?.proto === request.proto ? previous.binding : this.resumeBindings.get(name)
      const { binding, warnings } = await bindOne(session, spec, name, request, previousBinding)
      found = warnings
      host = new URL(binding.url).hostname
      this.#add(spec, name, request, binding, startedTunnels, previous?.id)
    }
    return found
  }

  #add(
    spec: AgentTunnelSpec,
    name: string,
    bind: BindSpec | undefined,
    binding: Binding,
    startedTunnels: AgentTunnel[],
    id: string | undefined,
  ): void {
    const { forwarder, clock } = this.#dependencies
    const tunnel = new AgentTunnel(name, spec, bind, binding, { forwarder, clock }, id)
    startedTunnels.push(tunnel)
    this.#byName.set(name, tunnel)
    this.#byBinding.set(binding.id, tunnel)
  }

  async #rebind(session: LeggedSession, tunnel: AgentTunnel): Promise<void> {
    const { log } = this.#dependencies
    try {
      const binding = tunnel.bind
        ? (await bindOne(session, tunnel.spec, tunnel.name, tunnel.bind, tunnel.binding)).binding
        : await bindLabels(session, tunnel.spec)
      // The tunnel may have been stopped meanwhile.
      if (this.#byName.get(tunnel.name) !== tunnel) {
        await session.unbind(binding.id)
        return
      }
      if (binding.url !== tunnel.binding.url) {
        log.warn('tunnel address changed', { obj: 'tunnels', name: tunnel.name, url: binding.url })
      }
      this.#byBinding.delete(tunnel.binding.id)
      tunnel.binding = binding
      tunnel.online = true
      this.#byBinding.set(binding.id, tunnel)
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error
      // One rejected tunnel must not take the others down; it is retried periodically.
      log.error('failed to rebind tunnel', { obj: 'tunnels', name: tunnel.name, err: error.message })
      tunnel.online = false
      const delayMs = RETRYABLE_ERRORS.has(error.number) ? RETRY_INTERVAL_MS : REBIND_INTERVAL_MS
      this.#rebindTimer ??= setTimeout(() => this.#rebindOffline(session), delayMs).unref()
    }
  }

  #rebindOffline(session: LeggedSession): void {
    this.#rebindTimer = undefined
    if (session.closed) return
    const offline = this.list().filter((tunnel) => !tunnel.online)
    void Promise.allSettled(offline.map((tunnel) => this.#rebind(session, tunnel))).then(() =>
      this.#dependencies.onChange(),
    )
  }

  async #unbind(tunnels: AgentTunnel[]): Promise<void> {
    for (const tunnel of tunnels) this.#remove(tunnel)
    if (tunnels.length === 0 || this.#dependencies.connection().status !== 'online') return
    const session = await this.#dependencies.connection().session(0)
    // When the session ends meanwhile, the server removes the tunnels itself.
    await Promise.allSettled(tunnels.map((tunnel) => session.unbind(tunnel.binding.id)))
  }

  #remove(tunnel: AgentTunnel): void {
    this.#byName.delete(tunnel.name)
    this.#byBinding.delete(tunnel.binding.id)
  }

  #logStarted(tunnel: AgentTunnel): void {
    const { log } = this.#dependencies
    if (tunnel.spec.inspectAsked && tunnel.spec.inspect && !tunnel.inspected)
      log.warn('ignoring inspect: true because inspection database is disabled', { name: tunnel.name })
    log.info('started tunnel', {
      obj: 'tunnels',
      name: tunnel.name,
      addr: tunnel.spec.upstream.text,
      ...(tunnel.spec.labels
        ? {
            labels: Object.entries(tunnel.spec.labels)
              .map(([key, value]) => `${key}=${value}`)
              .join(','),
          }
        : { url: tunnel.publicUrl }),
    })
  }
}

function withHost(bind: BindSpec, host: string): BindSpec {
  const { Hostname: _, Subdomain: __, ...opts } = bind.opts
  return { ...bind, opts: { ...opts, Domain: host } }
}

async function bindOne(
  session: LeggedSession,
  spec: AgentTunnelSpec,
  name: string,
  bind: BindSpec,
  previous: Binding | undefined,
): Promise<{ binding: Binding; warnings: readonly string[] }> {
  const request = toBindRequest(spec, name, bind)
  const response = await session.bind(
    previous
      ? {
          ...request,
          Id: previous.id,
          Opts: keepAddress(bind, previous),
          Extra: { ...request.Extra, Token: previous.token },
        }
      : request,
  )
  const { Id: id, URL: url, Proto: proto, Extra } = response
  return { binding: { id, token: Extra.Token, url, proto }, warnings: Extra.Warnings ?? [] }
}

/** A tunnel with a random address requests the same address on a rebind. */
function keepAddress(bind: BindSpec, previous: Binding): BindSpec['opts'] {
  const { Domain, Hostname, Subdomain, Addr } = bind.opts
  if (Domain || Hostname || Subdomain || Addr) return bind.opts
  const { host, hostname } = new URL(previous.url)
  return { ...bind.opts, ...(bind.proto === 'tcp' ? { Addr: host } : { Domain: hostname }) }
}

async function bindLabels(session: LeggedSession, spec: AgentTunnelSpec): Promise<Binding> {
  const response = await session.startTunnelWithLabel(toLabelRequest(spec))
  return { id: response.Id, token: '', url: '', proto: '' }
}

function toStartError(error: unknown): Error {
  if (error instanceof ProtocolError)
    return new StartError(error.message, error.code, RETRYABLE_ERRORS.get(error.number) ?? 0)
  return new StartError(SESSION_CLOSED)
}
