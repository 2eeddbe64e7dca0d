import type { Socket } from 'node:net'
import { readEnds, type SocketEnds } from './socket-ends.ts'
import { sourceOf } from './source.ts'

/** Shared sources leave this part of the places to those that are not. */
const RESERVED = 1 / 16

export interface AdmissionLimits {
  /** Connections at once. */
  readonly total: number
  /** Connections of one source, however few others there are. */
  readonly perSource?: number
  /** Addresses that many clients come from, as those of a load balancer: they have no share, only the total. */
  readonly isShared?: ((ip: string) => boolean) | undefined
}

/**
 * Decides which connections a listener takes, so that no source keeps others out (P22): a source may hold as many as are
 * still free. One source alone gets half of the places, two get a third each, N one of N + 1 parts each, and as much is
 * always free for the next. An IPv6 source is its /64: a single customer has that many addresses.
 */
export class Admission {
  readonly #limits: AdmissionLimits
  readonly #counts = new Map<string, number>()
  #sum = 0

  constructor(limits: AdmissionLimits) {
    this.#limits = limits
  }

  /** Whether a connection of this source has a place. */
  has(ip: string): boolean {
    return this.#counts.has(sourceOf(ip))
  }

  /** Gives a connection a place until it is closed and copies its ends; closes it when there is no place for it. */
  admit(socket: Socket): SocketEnds | undefined {
    const ends = readEnds(socket)
    const leave = ends && this.take(ends.remoteAddress)
    if (leave === undefined) {
      socket.destroy()
      return undefined
    }
    socket.once('close', leave)
    return ends
  }

  /** Takes a place; undefined when there is none. Call the answer once to give it back. */
  take(ip: string): (() => void) | undefined {
    const source = sourceOf(ip)
    const count = this.#counts.get(source) ?? 0
    if (!this.#mayTake(ip, count)) return undefined
    this.#counts.set(source, count + 1)
    this.#sum++
    let isTaken = true
    return () => {
      if (!isTaken) return
      isTaken = false
      this.#sum--
      const left = this.#counts.get(source)! - 1
      if (left === 0) this.#counts.delete(source)
      else this.#counts.set(source, left)
    }
  }

  #mayTake(ip: string, count: number): boolean {
    const { total, perSource = Number.POSITIVE_INFINITY, isShared } = this.#limits
    const free = total - this.#sum
    if (isShared?.(ip) === true) return free > total * RESERVED
    return count < free && count < perSource
  }
}
