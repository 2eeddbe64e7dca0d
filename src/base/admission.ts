import type { Socket } from 'node:net'
import { sourceOf } from './client-key.ts'
import { readEnds, type SocketEnds } from './io/socket-ends.ts'

/** Shared sources leave this part of the places to those that are not. */
const RESERVED_FRACTION = 1 / 16

export interface AdmissionLimits {
  /** Connections at once. */
  readonly total: number
  /** Connections of one holder, however few others there are. */
  readonly perHolder?: number
  /** Addresses that many clients come from, as those of a load balancer: they have no share, only the total. */
  readonly isShared?: ((ip: string) => boolean) | undefined
}

/**
 * Decides which connections are admitted, so that no holder keeps others out (P22): it may hold as many as are still free.
 * One holder alone gets half of the places, two get a third each, N one of N + 1 parts each, and as much is always free
 * for the next. A holder is whatever the caller counts by: a source (`sourceOf`) before a login, an account after it.
 */
export class Admission {
  readonly #limits: AdmissionLimits
  readonly #counts = new Map<string, number>()
  #sum = 0

  constructor(limits: AdmissionLimits) {
    this.#limits = limits
  }

  /** Whether the holder has a place. */
  has(holder: string): boolean {
    return this.#counts.has(holder)
  }

  /** Gives a connection a place until it is closed and copies its ends; closes it when there is no place for it. */
  admit(socket: Socket): SocketEnds | undefined {
    const ends = readEnds(socket)
    const release = ends && this.takeSource(ends.remoteAddress)
    if (release === undefined) {
      socket.destroy()
      return undefined
    }
    socket.once('close', release)
    return ends
  }

  /** Takes a place for the source of this address, as `take` does. */
  takeSource(ip: string): (() => void) | undefined {
    return this.take(sourceOf(ip), this.#limits.isShared?.(ip))
  }

  /** Takes a place; undefined when there is none. Call the answer once to give it back. */
  take(holder: string, isShared = false): (() => void) | undefined {
    const count = this.#counts.get(holder) ?? 0
    if (!this.#canAcquire(count, isShared)) return undefined
    this.#counts.set(holder, count + 1)
    this.#sum++
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#sum--
      const remaining = this.#counts.get(holder)! - 1
      if (remaining === 0) this.#counts.delete(holder)
      else this.#counts.set(holder, remaining)
    }
  }

  #canAcquire(count: number, isShared: boolean): boolean {
    const { total, perHolder = Number.POSITIVE_INFINITY } = this.#limits
    const free = total - this.#sum
    if (isShared) return free > total * RESERVED_FRACTION
    return count < free && count < perHolder
  }
}
