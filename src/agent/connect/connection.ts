import type { TLSSocket } from 'node:tls'
import { WindowBudget } from '../../base/io/memory/window-budget.ts'
import type { ByteStream } from '../../base/io/streams/stream.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import type { Clock } from '../../base/values/clock.ts'
import { joinHostPort } from '../../base/values/hostport.ts'
import {
  type AgentCommand,
  type AgentIdentity,
  type AuthResponse,
  HeartbeatTimeout,
  type HeartbeatTimes,
  ProtocolError,
  type ProxyHeader,
  RETRYABLE_ERRORS,
  startAgentSession,
} from '../../protocol/index.ts'
import { ConfigError } from '../config/error.ts'
import type { AgentLog } from '../log/log.ts'
import { Backoff } from './backoff.ts'
import { type DialSettings, dialServer, UntrustedServer } from './dial.ts'
import { type AgentLeg, LeggedSession } from './legged-session.ts'
import type { ServerLocation } from './location.ts'
import { ServerAddresses } from './server-addresses.ts'
import { dialStaggered } from './staggered-dial.ts'

/** Status of the session, as the screen and the local API show it. */
export type SessionStatus = 'connecting' | 'online' | 'reconnecting' | 'closed'

/** What a server connection needs from its agent. */
export interface ServerConnectionOptions {
  location: ServerLocation
  /** All current addresses of the server; when it throws, `location` is used. */
  relocate?: (() => readonly ServerLocation[]) | undefined
  dial: DialSettings
  identity: Omit<AgentIdentity, 'authtoken' | 'clientId' | 'cookie'>
  heartbeat: HeartbeatTimes
  /** How many legs a session may have. */
  legs: number
  clock: Clock
  log: AgentLog
  /** A client connection; its sink is set when this returns. */
  onProxy(header: ProxyHeader, stream: ByteStream): void
  onCommand(command: AgentCommand): Promise<void>
  /** Rebinds the tunnels in a new session, which counts as online once this resolves. */
  onSession(session: LeggedSession): Promise<void>
  /** Status, latency or welcome changed. */
  onChange(): void
  random?: () => number
}

/** State that survives a session and lets the next one keep its names. */
export interface SessionResumption {
  clientId: string
  cookie: string
}

/** A session this long resets the backoff. */
const STABLE_SESSION_MS = 10_000
/** The share of the usual wait, up to a second, before the first attempt of an agent that has legs left. */
const MOVE_DELAY_SHARE = 1 / 20
/** Only local agents compete for a server on this machine, and a restarted one should be found at once. */
const MAX_LOOPBACK_BACKOFF_MS = 1000
const LOOPBACK_DIAL_INTERVAL_MS = 1000
/** Time for TCP, TLS and authentication together at one of several addresses, before the next one is tried. */
const ATTEMPT_TIMEOUT_MS = 5000
const MIN_AUTH_TIMEOUT_MS = 1000

/** Thrown by calls that need a session while there is none. */
export class NoSession extends Error {
  override name = 'NoSession'
}

/** The agent's connection to its server: maintains one session and replaces it when it is lost. */
export class ServerConnection {
  readonly #options: ServerConnectionOptions
  readonly #backoff: Backoff
  readonly #addresses: ServerAddresses
  /** Shared by all legs, so that readers that stop hold no more memory with several. */
  readonly #windows = new WindowBudget().forSession()
  #status: SessionStatus = 'connecting'
  #session: LeggedSession | undefined
  /** Earlier sessions, whose legs may still serve. */
  #earlier: readonly LeggedSession[] = []
  #welcome: AuthResponse | undefined
  #resume: SessionResumption = { clientId: '', cookie: '' }
  #wasOnline = false
  #lastError: Error | undefined
  #closing = false
  #restarting = false
  readonly #abort = new AbortController()
  #wake: (() => void) | undefined
  #waiters: { resolve(session: LeggedSession): void; reject(error: Error): void }[] = []

  constructor(options: ServerConnectionOptions) {
    this.#options = options
    this.#backoff = new Backoff({
      clock: options.clock,
      ...(options.location.loopback ? { maxMs: MAX_LOOPBACK_BACKOFF_MS } : {}),
      random: options.random,
    })
    this.#addresses = new ServerAddresses(options.dial, options.random)
  }

  get status(): SessionStatus {
    return this.#status
  }

  /** The server's AuthResponse in the current or last session. */
  get welcome(): AuthResponse | undefined {
    return this.#welcome
  }

  /** The connections of the session. */
  get legs(): readonly AgentLeg[] {
    return this.#session?.legs ?? []
  }

  /** The latency of the session's oldest leg. */
  get latencyMs(): number | undefined {
    return this.legs[0]?.latencyMs
  }

  /** Why there is no session right now. */
  get lastError(): Error | undefined {
    return this.#lastError
  }

  get resume(): SessionResumption {
    return this.#resume
  }

  /** Resumes the session of a previous process. */
  set resume(resume: SessionResumption) {
    this.#resume = resume
  }

  /**
   * Connects, and reconnects until closed. Resolves when closed; rejects when the first session fails permanently
   * (authentication, trust).
   */
  async run(): Promise<void> {
    let fatalError: Error | undefined
    try {
      while (!this.#closing) {
        const elapsed = { ms: 0 }
        try {
          await this.#connectRound(elapsed)
        } catch (error) {
          this.#handleFailure(error as Error)
        }
        if (this.#restarting) this.#restarting = false
        else if (!this.#closing) await this.#sleep(this.#pauseAfter(elapsed.ms))
      }
    } catch (error) {
      fatalError = error as Error
      throw error
    } finally {
      this.#status = 'closed'
      for (const { reject } of this.#waiters.splice(0))
        reject(fatalError ?? new NoSession('the agent is stopping'))
      this.#options.onChange()
    }
  }

  /** How long to wait for the next attempt, after a session was lost or attempts of this duration have failed. */
  #pauseAfter(elapsedMs: number): number {
    const { isFirst } = this.#backoff
    const delayMs = this.#backoff.next(elapsedMs)
    // Legs that are left show that the platform runs. A process that starts now learns of the tunnels from the next session.
    const hasLegs = this.#earlier.some(({ legs }) => legs.length > 0)
    return isFirst && hasLegs ? delayMs * MOVE_DELAY_SHARE : delayMs
  }

  /** Resolves with the session, waiting up to `timeoutMs` for one (forever when infinite). */
  session(timeoutMs: number): Promise<LeggedSession> {
    if (this.#status === 'online' && this.#session) return Promise.resolve(this.#session)
    if (this.#closing) return Promise.reject(new NoSession('the agent is stopping'))
    return new Promise((resolve, reject) => {
      const waiter = {
        resolve: (session: LeggedSession) => {
          clearTimeout(timer)
          resolve(session)
        },
        reject: (error: Error) => {
          clearTimeout(timer)
          reject(error)
        },
      }
      const onTimeout = () => {
        this.#waiters = this.#waiters.filter((each) => each !== waiter)
        reject(new NoSession(this.#lastError?.message ?? 'the session is not established yet'))
      }
      const timer = Number.isFinite(timeoutMs) ? setTimeout(onTimeout, timeoutMs) : undefined
      this.#waiters.push(waiter)
    })
  }

  /** Closes the session cleanly and starts another, under a new session id but with the same names. */
  restart(): void {
    if (!this.#session) return
    this.#restarting = true
    this.#session.close()
  }

  /** Closes the session cleanly, for good. */
  close(): void {
    if (this.#session && !this.#closing) {
      this.#options.log.info('session closing', { obj: 'tunnels.session', err: null })
    }
    this.#closing = true
    this.#abort.abort()
    this.#session?.close()
    for (const session of this.#earlier) session.close()
    this.#wake?.()
  }

  /** Serves a session, and those that replace it before it is lost. Sets `elapsed.ms` to the duration of failed attempts. */
  async #connectRound(elapsed: { ms: number }): Promise<void> {
    let first: AgentLeg | undefined = await this.#connect(elapsed)
    while (first !== undefined) first = await this.#serve(first)
  }

  /** Tries each address once, until a session begins at one; undefined when the agent is stopping. */
  async #connect(elapsed: { ms: number }): Promise<AgentLeg | undefined> {
    const { clock, log } = this.#options
    const startedAt = clock.monotonic()
    const locations = await this.#addresses.nextRound(this.#locate())
    const failures: Error[] = []
    for (const location of locations) {
      try {
        return await this.#establish(location, locations.length > 1)
      } catch (error) {
        if (this.#closing) return undefined
        this.#addresses.recordOutcome(location, false)
        failures.push(error as Error)
        // Every node gives the same rejection.
        if (isRejected(error) || error instanceof ConfigError) throw error
        const addr = joinHostPort(location.addresses?.[0] ?? location.host, location.port)
        if (failures.length < locations.length)
          log.warn('server address failed, trying the next one', {
            obj: 'tunnels.session',
            addr,
            err: errorMessage(error),
          })
      }
    }
    elapsed.ms = clock.monotonic() - startedAt
    // An untrusted certificate at one address is not permanent while other addresses are merely unreachable.
    throw failures.findLast((error) => !(error instanceof UntrustedServer)) ?? failures.at(-1)!
  }

  /** Dials and authenticates within the timeout of one attempt: a new session, or a further leg of one. */
  async #establish(
    location: ServerLocation,
    hasAlternatives: boolean,
    joining?: AgentIdentity['leg'],
  ): Promise<AgentLeg> {
    const { dial, identity, heartbeat, clock, log, legs } = this.#options
    const timeoutMs = hasAlternatives ? Math.min(dial.timeoutMs, ATTEMPT_TIMEOUT_MS) : dial.timeoutMs
    const startedAt = clock.monotonic()
    const transport = await this.#dial(location, timeoutMs, hasAlternatives)
    if (this.#closing) {
      transport.destroy()
      throw new NoSession('the agent is stopping')
    }
    const { promise: closed, resolve } = Promise.withResolvers<Error | undefined>()
    const move = Promise.withResolvers<readonly string[]>()
    const number = joining?.number ?? 0
    const leg = { number, location, latencyMs: undefined, closed, move: move.promise }
    try {
      const session = await startAgentSession(transport, {
        identity: {
          ...{ ...identity, authtoken: location.authtoken, ...this.#resume },
          maxLegs: legs,
          ...(joining && { leg: joining }),
        },
        heartbeat,
        clock,
        windows: this.#windows,
        callTimeoutMs: Math.max(dial.timeoutMs, 10_000),
        authTimeoutMs: Math.max(timeoutMs - (clock.monotonic() - startedAt), MIN_AUTH_TIMEOUT_MS),
        onProxy: (header, stream) => this.#accept(header, stream),
        onCommand: (command) => this.#options.onCommand(command),
        onAddresses: (addresses) => this.#followAddresses(location, addresses),
        onMove: move.resolve,
        onLatency: (milliseconds) => this.#recordLatency(leg, milliseconds),
        onClose: resolve,
        onInternalError: (error) => log.error('internal error', { err: error }),
      })
      return Object.assign(leg, { session })
    } catch (error) {
      // A server that does not answer would not read a clean close either.
      if (!(error instanceof ProtocolError)) transport.destroy()
      throw error
    }
  }

  #accept(header: ProxyHeader, stream: ByteStream): void {
    this.#session?.expand()
    this.#options.onProxy(header, stream)
  }

  /** Nodes joined or left: opens a leg to each that has none. */
  #followAddresses(location: ServerLocation, addresses: readonly string[]): void {
    this.#addresses.learn(location, addresses)
    const { nodes } = this.#addresses
    // The first is the one that sent them.
    for (const [index, { host, port }] of nodes.entries())
      if (index > 0 && !this.legs.some(({ location }) => location.host === host && location.port === port))
        this.#session?.openAlso(index, nodes.length)
  }

  #startSession(first: AgentLeg): LeggedSession {
    const { legs, clock, log, random, onChange } = this.#options
    const { Extra } = first.session.authResponse
    const sessionId = Extra?.AgentSessionID ?? ''
    return new LeggedSession({
      first,
      maxLegs: Math.min(legs, Extra?.MaxLegs ?? 1),
      isSpread: (Extra?.Workers ?? 1) > 1,
      open: (number, failures, mustBeRemote) =>
        this.#establish(this.#addresses.forLeg(first.location, number, failures), false, {
          sessionId,
          number,
          mustBeRemote,
        }),
      clock,
      log,
      random,
      maxBackoffMs: first.location.loopback ? MAX_LOOPBACK_BACKOFF_MS : undefined,
      onChange,
    })
  }

  /** Serves the session until it is lost, and throws the reason; or returns the first leg of one that replaces it. */
  async #serve(first: AgentLeg): Promise<AgentLeg | undefined> {
    const { clock } = this.#options
    const { location } = first
    const { ClientId, Extra } = first.session.authResponse
    const session = this.#startSession(first)
    this.#session = session
    this.#welcome = session.authResponse
    this.#resume = { clientId: ClientId, cookie: Extra?.Cookie ?? '' }
    this.#addresses.learn(
      location,
      (Extra?.ConnectAddresses ?? []).map(({ ServerAddr }) => ServerAddr),
    )
    const startedAt = clock.monotonic()
    try {
      if (this.#closing) session.close()
      else {
        await this.#options.onSession(session)
        this.#markOnline(session)
      }
    } catch (error) {
      // A session without its tunnels is useless: reconnect, as after any other loss.
      session.close()
      await session.ended
      this.#addresses.recordOutcome(location, false)
      throw error
    }
    const next = await Promise.race([session.ended.then(() => undefined), this.#replace(session, location)])
    // The server closes the legs of earlier sessions when a newer one has their tunnels.
    this.#earlier = [...this.#earlier.filter(({ legs }) => legs.length > 0), session]
    if (next !== undefined) {
      session.retire()
      return next
    }
    const error = await session.ended
    this.#session = undefined
    const stable = clock.monotonic() - startedAt >= STABLE_SESSION_MS
    if (stable) this.#backoff.reset()
    this.#addresses.recordOutcome(location, stable && !(error instanceof HeartbeatTimeout))
    if (!this.#closing) throw error ?? new Error('the session was closed')
    return undefined
  }

  /** Starts the next session once the server asks for it; this one serves until then. Undefined when it ends before. */
  async #replace(session: LeggedSession, location: ServerLocation): Promise<AgentLeg | undefined> {
    const { log } = this.#options
    this.#addresses.moveOn(location, await session.move)
    log.info('the server asks for another session', { obj: 'tunnels.session' })
    while (!session.closed) {
      const elapsed = { ms: 0 }
      try {
        const leg = await this.#connect(elapsed)
        if (!session.closed) return leg
        leg?.session.close()
      } catch (error) {
        log.warn('no other session yet', { obj: 'tunnels.session', err: errorMessage(error) })
        await this.#sleep(this.#backoff.next(elapsed.ms))
      }
    }
    return undefined
  }

  #dial(location: ServerLocation, timeoutMs: number, hasAlternatives: boolean): Promise<TLSSocket> {
    const settings = { ...this.#options.dial, timeoutMs }
    const attempt = (signal: AbortSignal) => dialServer(location, settings, signal)
    // For a remote server, doubled attempts of many agents could keep it from recovering.
    if (!location.loopback || hasAlternatives) return attempt(this.#abort.signal)
    const dialSignal = AbortSignal.any([this.#abort.signal, AbortSignal.timeout(timeoutMs)])
    return dialStaggered(attempt, LOOPBACK_DIAL_INTERVAL_MS, dialSignal)
  }

  #locate(): readonly ServerLocation[] {
    const { location, relocate } = this.#options
    try {
      return relocate?.() ?? [location]
    } catch {
      return [location]
    }
  }

  #markOnline(session: LeggedSession): void {
    const { log } = this.#options
    const id = session.authResponse.Extra?.AgentSessionID ?? ''
    this.#wasOnline = true
    this.#lastError = undefined
    this.#status = 'online'
    log.info('tunnel session started', { obj: 'tunnels.session' })
    log.info('client session established', { obj: 'tunnels.session', id })
    for (const { resolve } of this.#waiters.splice(0)) resolve(session)
    this.#options.onChange()
  }

  #recordLatency(leg: { latencyMs: number | undefined }, milliseconds: number): void {
    leg.latencyMs = milliseconds
    this.#options.log.debug('heartbeat received', {
      obj: 'tunnels.session',
      latency_ms: Math.round(milliseconds),
    })
    this.#options.onChange()
  }

  /** Records a lost session or a failed attempt; rethrows permanent errors. */
  #handleFailure(error: Error): void {
    const { log } = this.#options
    if (this.#closing) return
    this.#session = undefined
    this.#lastError = error
    if (error instanceof ConfigError) throw error
    if (!this.#wasOnline && isPermanent(error)) {
      log.error('failed to auth', { obj: 'tunnels.session', err: error.message })
      log.error('session closing', { obj: 'tunnels.session', err: error.message })
      throw error
    }
    if (this.#restarting) {
      log.info('session restarting', { obj: 'tunnels.session' })
    } else if (this.#status === 'online') {
      if (error instanceof HeartbeatTimeout) {
        log.error('heartbeat timeout, terminating session', { obj: 'tunnels.session' })
      }
      log.error('session closed, starting reconnect loop', { obj: 'tunnels.session', err: error.message })
    } else {
      log.error('failed to reconnect session', { obj: 'tunnels.session', err: error.message })
    }
    this.#status = this.#wasOnline ? 'reconnecting' : 'connecting'
    this.#options.onChange()
  }

  #sleep(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}

/** A numbered error means that the server knows this agent and rejects it; most of these are permanent. */
function isRejected(error: unknown): boolean {
  return error instanceof ProtocolError && error.number !== undefined && !RETRYABLE_ERRORS.has(error.number)
}

/** An untrusted certificate is permanent too. */
function isPermanent(error: Error): boolean {
  return error instanceof UntrustedServer || isRejected(error)
}
