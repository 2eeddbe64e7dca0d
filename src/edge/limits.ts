import type { Deadlines } from '../base/io/timer-wheel.ts'

/** How long a visitor may take, in milliseconds; tests give shorter ones. */
export interface LimitSettings {
  /** ClientHello and handshake. */
  readonly handshake: number
  /** A request head, from its first byte to its last (P19). */
  readonly head: number
  /** A kept-alive connection without a request. */
  readonly idle: number
  /** A body that is held until a module has seen all of it, from its head to its last byte. */
  readonly heldBody: number
  /** A body or connection that should move but does not (P16). */
  readonly progress: number
  /** Reading on after an answer that ended the connection, so that it is not lost to a reset. */
  readonly linger: number
  /** A visitor that half-closed and waits for an answer. */
  readonly halfClosed: number
  /** A WebSocket of which one side has ended; RFC 6455 knows no half of one. */
  readonly halfWebSocket: number
  /** An upstream connection kept for the next request. */
  readonly upstreamIdle: number
  /** Between telling HTTP/2 visitors to come back elsewhere and refusing their new requests. */
  readonly goaway: number
  /** How long a kept-alive connection may still bring a request when the edge stops. */
  readonly drainIdle: number
  /** How long a stop waits for what is under way (P9). */
  readonly drain: number
}

export const defaultLimits: LimitSettings = {
  handshake: 10_000,
  head: 10_000,
  idle: 60_000,
  heldBody: 30_000,
  progress: 300_000,
  linger: 5_000,
  halfClosed: 2_000,
  halfWebSocket: 25_000,
  upstreamIdle: 30_000,
  goaway: 5_000,
  drainIdle: 400,
  drain: 30_000,
}

/** The same in ticks of the one timer. */
export type EdgeLimits = { readonly [K in keyof LimitSettings]: number }

export function limitsInTicks(settings: LimitSettings, timers: Deadlines): EdgeLimits {
  const ticks = (milliseconds: number) => timers.ticks(milliseconds)
  return {
    handshake: ticks(settings.handshake),
    head: ticks(settings.head),
    idle: ticks(settings.idle),
    heldBody: ticks(settings.heldBody),
    progress: ticks(settings.progress),
    linger: ticks(settings.linger),
    halfClosed: ticks(settings.halfClosed),
    halfWebSocket: ticks(settings.halfWebSocket),
    upstreamIdle: ticks(settings.upstreamIdle),
    goaway: ticks(settings.goaway),
    drainIdle: ticks(settings.drainIdle),
    drain: ticks(settings.drain),
  }
}
