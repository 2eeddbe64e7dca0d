import type { Duplex } from 'node:stream'
import type { BufferPool } from '../base/io/memory/buffer-pool.ts'
import type { ByteBudget } from '../base/io/memory/byte-budget.ts'
import type { WindowBudget } from '../base/io/memory/window-budget.ts'
import { type Clock, systemClock } from '../base/values/clock.ts'
import { HeartbeatEcho, ping, Watchdog } from './mux/heartbeat.ts'
import { MuxSession } from './mux/mux-session.ts'
import type { MuxStream } from './mux/mux-stream.ts'
import { parseProtocolError } from './mux/protocol-error.ts'
import { CallReader, call, MESSAGE_TIMEOUT_MS } from './mux/rpc.ts'
import { StreamType, TypeReader, typeBytes } from './mux/stream-type.ts'
import { encodeProxyHeader, type ProxyHeader } from './proxy-header.ts'

/** Callbacks and dependencies of the server's end. */
export interface ServedSessionOptions {
  /** Handles an agent's request by stream type; a thrown `ProtocolError` becomes the response's `Error`. */
  onCall(type: number, message: Record<string, unknown>): Promise<object> | object
  onClose(error?: Error): void
  /** `count` streams closed, so there is capacity for new ones. */
  onStreamsClosed?(count: number): void
  onInternalError(error: unknown): void
  pool?: BufferPool
  /** Charged for the bytes of incomplete messages. */
  budget?: ByteBudget
  /** How long an incomplete message may stay pending. */
  messageTimeoutMs?: number | undefined
  clock?: Clock
}

/** An unauthenticated agent gets little memory. */
const MAX_STREAMS_BEFORE_AUTH = 8
const MAX_STREAMS_AFTER_AUTH = 128

/** An agent without a command handler never responds. */
const COMMAND_TIMEOUT_MS = 5000

/** An echo this late says nothing about the link. */
const PING_TIMEOUT_MS = 5000

/** The server's end of an agent session: serves calls and beats, opens proxied streams, sends commands. */
export class ServedSession {
  readonly #options: ServedSessionOptions
  readonly #clock: Clock
  readonly #mux: MuxSession
  #watchdog: Watchdog | undefined

  constructor(transport: Duplex, options: ServedSessionOptions) {
    this.#options = options
    this.#clock = options.clock ?? systemClock
    this.#mux = new MuxSession(transport, {
      role: 'server',
      clock: this.#clock,
      onStream: (stream) => this.#accept(stream),
      onClose: (error) => this.#onClosed(error),
      onStreamsClosed: (count) => options.onStreamsClosed?.(count),
      onInternalError: options.onInternalError,
      ...(options.pool && { pool: options.pool }),
    })
    this.#mux.nudges = true
    this.#mux.finBeforeReset = true
    this.#mux.maxIncoming = MAX_STREAMS_BEFORE_AUTH
  }

  /** Open streams of both sides. */
  get streamCount(): number {
    return this.#mux.streamCount
  }

  /** Open streams of this side: proxied connections and commands. */
  get openedCount(): number {
    return this.#mux.openedCount
  }

  /** Monotonic time of the last bytes from the agent. */
  get lastReceivedAt(): number {
    return this.#mux.lastReceivedAt
  }

  /** The round-trip time to the agent; undefined before the first sample. */
  get roundTripMs(): number | undefined {
    return this.#mux.roundTrip.ms
  }

  get closed(): boolean {
    return this.#mux.closed
  }

  /**
   * The agent is authenticated: raises its limits and starts the watchdog with `silenceMs`. A first-party agent sets
   * TCP_NODELAY and acts on RST, so the two workarounds for the SDKs are turned off.
   */
  authenticated(silenceMs: number, firstParty: boolean): void {
    this.#mux.maxIncoming = MAX_STREAMS_AFTER_AUTH
    this.#mux.nudges = !firstParty
    this.#mux.finBeforeReset = !firstParty
    this.#watchdog = new Watchdog(this.#mux, silenceMs, this.#clock)
  }

  /** See `MuxSession.agreeOnWindows`. */
  agreeOnWindows(agentMaxWindow: number | undefined, budget: WindowBudget): number {
    const measure = () => void ping(this.#mux, this.#clock, PING_TIMEOUT_MS)
    return this.#mux.agreeOnWindows(agentMaxWindow, budget, measure)
  }

  /** Takes a sample of the round-trip time now and then, if the agent is one of ours. */
  refreshRoundTrip(): void {
    this.#mux.windowGrowth?.refreshRoundTrip()
  }

  /** The agent reads notes on its streams. */
  enableNotes(): void {
    this.#mux.sendsNotes = true
  }

  /** Opens a proxied connection to the agent's upstream; the preamble (a PROXY header) precedes the client's bytes. */
  openProxy(header: ProxyHeader, preamble?: Buffer): MuxStream {
    return this.#mux.open(encodeProxyHeader(header, preamble))
  }

  /** Sends Restart, Stop or Update. Rejects when the agent reports an error or does not respond in time. */
  async command(type: number, message: object, timeoutMs = COMMAND_TIMEOUT_MS): Promise<void> {
    const response = await call(this.#mux, type, message, timeoutMs)
    if (typeof response.Error === 'string' && response.Error !== '') throw parseProtocolError(response.Error)
  }

  /** Notifies the agent that the server ended one of its tunnels. There is no response. */
  stopTunnel(id: string, message: string, code: string | null): void {
    if (this.#mux.closed) return
    const json = Buffer.from(JSON.stringify({ Id: id, Message: message, ErrorCode: code }))
    const stream = this.#mux.open(Buffer.concat([typeBytes(StreamType.StopTunnel), json]))
    stream.end()
    // The Go SDK never closes this stream.
    setTimeout(() => stream.reset(), COMMAND_TIMEOUT_MS).unref()
  }

  /** Whether the agent sends anything within the timeout: the echo of a beat, or any other bytes. */
  probe(timeoutMs: number): Promise<boolean> {
    return ping(this.#mux, this.#clock, timeoutMs)
  }

  close(code: number, text: string): void {
    this.#mux.close(code, text)
  }

  destroy(error?: Error): void {
    this.#mux.destroy(error)
  }

  #accept(stream: MuxStream): void {
    const {
      onCall,
      onInternalError,
      budget,
      messageTimeoutMs: timeoutMs = MESSAGE_TIMEOUT_MS,
    } = this.#options
    const onTyped = (type: number): void => {
      if (type === StreamType.Heartbeat) stream.sink = new HeartbeatEcho(stream)
      else {
        const handler = (message: Record<string, unknown>) => onCall(type, message)
        stream.sink = new CallReader(stream, handler, onInternalError, { budget, timeoutMs })
      }
    }
    stream.sink = new TypeReader(stream, onTyped, timeoutMs)
  }

  #onClosed(error: Error | undefined): void {
    this.#watchdog?.stop()
    this.#options.onClose(error)
  }
}
