import type { TimerWheel } from '../../base/io/memory/timer-wheel.ts'

/** Timeouts of the edge, in milliseconds; tests set shorter ones. */
export interface LimitSettings {
  /** ClientHello and handshake. */
  readonly handshake: number
  /** A request head, from its first byte to its last (P19). */
  readonly head: number
  /** A keep-alive connection without a request. */
  readonly idle: number
  /** A body that is held until a module has read it, from the request head to its last byte (decision 120). */
  readonly heldBody: number
  /** A body or connection that has bytes to transfer but makes no progress (P16). */
  readonly progress: number
  /** An exchange in which neither side sends a byte; 0 for no limit. A policy can set another one. */
  readonly response: number
  /** Reading after the last response of a connection, so that a reset does not discard it. */
  readonly linger: number
  /** A client that half-closed and waits for its response, or for more of it (decision 152). */
  readonly halfClosed: number
  /** A WebSocket of which one side has ended; RFC 6455 has no half-closed connection (decision 121). */
  readonly halfWebSocket: number
  /** A WebSocket whose client was told that the edge stops. */
  readonly closedWebSocket: number
  /** An idle upstream connection in the pool. */
  readonly upstreamIdle: number
  /** Between the two GOAWAY frames of a draining HTTP/2 connection. */
  readonly goaway: number
  /**
   * When the edge stops: how long an idle keep-alive connection may still send a request (decision 102), and how long a
   * WebSocket lasts whose client is gone.
   */
  readonly drainIdle: number
  /** How long a stop waits for exchanges in flight (P9). */
  readonly drain: number
}

export const defaultLimits: LimitSettings = {
  handshake: 10_000,
  head: 10_000,
  idle: 60_000,
  heldBody: 30_000,
  progress: 300_000,
  response: 300_000,
  linger: 5_000,
  halfClosed: 2_000,
  halfWebSocket: 25_000,
  closedWebSocket: 5_000,
  upstreamIdle: 30_000,
  goaway: 5_000,
  drainIdle: 400,
  drain: 30_000,
}

/** The same in ticks of the timer wheel. */
export type EdgeLimits = { readonly [K in keyof LimitSettings]: number }

export function toTickLimits(settings: LimitSettings, timers: TimerWheel): EdgeLimits {
  const ticks = (milliseconds: number) => timers.ticks(milliseconds)
  return {
    handshake: ticks(settings.handshake),
    head: ticks(settings.head),
    idle: ticks(settings.idle),
    heldBody: ticks(settings.heldBody),
    progress: ticks(settings.progress),
    response: settings.response === 0 ? Number.POSITIVE_INFINITY : ticks(settings.response),
    linger: ticks(settings.linger),
    halfClosed: ticks(settings.halfClosed),
    halfWebSocket: ticks(settings.halfWebSocket),
    closedWebSocket: ticks(settings.closedWebSocket),
    upstreamIdle: ticks(settings.upstreamIdle),
    goaway: ticks(settings.goaway),
    drainIdle: ticks(settings.drainIdle),
    drain: ticks(settings.drain),
  }
}
