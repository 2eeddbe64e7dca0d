import type { Socket } from 'node:net'
import { clientKey } from '../../values/client-key.ts'
import { readAddresses, type SocketAddresses } from './socket-addresses.ts'

/** The fraction of the slots that shared addresses leave to all others. */
const RESERVED_FRACTION = 1 / 16

export interface ConcurrencyLimits {
  /** Connections at once. */
  readonly total: number
  /** Connections of one holder, however many slots are free. */
  readonly perHolder?: number
  /** The fraction of the slots that a single holder leaves to others: half, unless holders are known and trusted more. */
  readonly freeFraction?: number
  /** Addresses many clients share, such as a load balancer's: only the total limits them. */
  readonly isShared?: ((ip: string) => boolean) | undefined
}

/** How many slots a holder has. */
export type HolderCount = [holder: string, count: number]

/**
 * Limits concurrent use with fair shares (P22, decision 118): a holder may hold as many slots as are still free, so one
 * holder gets half of them, two get a third each, N get 1/(N + 1) each, and the same share stays free for the next. With
 * another `freeFraction` it may hold a multiple of what is free (decision 272). A holder is the key the caller counts by:
 * a client (`clientKey`) before authentication, an account after it.
 */
export class ConcurrencyLimiter {
  readonly #limits: ConcurrencyLimits
  readonly #counts = new Map<string, number>()
  /** The slots that holders have in other processes, by the number of the process. */
  readonly #otherProcesses = new Map<number, Map<string, number>>()
  /** Holders whose count has changed and is not told yet; undefined where there are no other processes. */
  #changed: Set<string> | undefined
  #sum = 0

  constructor(limits: ConcurrencyLimits) {
    this.#limits = limits
  }

  /** Tells other processes all counts with the next `takeChanges`, and later those that change. */
  share(): void {
    this.#changed = new Set(this.#counts.keys())
  }

  /** The counts of holders that have changed since the last call. */
  takeChanges(): HolderCount[] {
    const changes = [...(this.#changed ?? [])].map(
      (holder): HolderCount => [holder, this.#counts.get(holder) ?? 0],
    )
    this.#changed?.clear()
    return changes
  }

  /** Takes what another process tells: its slots count for the limit of a holder. */
  setCountsOf(process: number, changes: readonly HolderCount[]): void {
    const counts = this.#otherProcesses.get(process) ?? new Map<string, number>()
    this.#otherProcesses.set(process, counts)
    for (const [holder, count] of changes) {
      if (count === 0) counts.delete(holder)
      else counts.set(holder, count)
    }
  }

  /** Forgets what a process has told that has ended. */
  forgetCountsOf(process: number): void {
    this.#otherProcesses.delete(process)
  }

  /** Whether the holder has at least one slot, here or in another process. */
  has(holder: string): boolean {
    return this.#counts.has(holder) || this.#countInOthers(holder) > 0
  }

  /**
   * Acquires a slot until the connection closes, and copies its addresses unless they are given. Closes the connection
   * when none is free.
   */
  admit(socket: Socket, addresses = readAddresses(socket)): SocketAddresses | undefined {
    const release = addresses && this.acquireForClient(addresses.remoteAddress)
    if (release === undefined) {
      socket.destroy()
      return undefined
    }
    socket.once('close', release)
    return addresses
  }

  /** Acquires a slot until the connection closes; false when the limit is reached. */
  acquireUntilClosed(holder: string, socket: Socket): boolean {
    const release = this.acquire(holder)
    if (release !== undefined) socket.once('close', release)
    return release !== undefined
  }

  /** Acquires a slot for the client at this address, as `acquire` does. */
  acquireForClient(ip: string): (() => void) | undefined {
    return this.acquire(clientKey(ip), this.#limits.isShared?.(ip))
  }

  /** Acquires a slot and returns its release function, or undefined when the limit is reached. Releasing twice is safe. */
  acquire(holder: string, isShared = false): (() => void) | undefined {
    const count = this.#counts.get(holder) ?? 0
    if (!this.#canAcquire(holder, count, isShared)) return undefined
    this.#counts.set(holder, count + 1)
    this.#changed?.add(holder)
    this.#sum++
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#sum--
      const remaining = this.#counts.get(holder)! - 1
      if (remaining === 0) this.#counts.delete(holder)
      else this.#counts.set(holder, remaining)
      this.#changed?.add(holder)
    }
  }

  #canAcquire(holder: string, count: number, isShared: boolean): boolean {
    const { total, perHolder = Number.POSITIVE_INFINITY, freeFraction = 1 / 2 } = this.#limits
    const free = total - this.#sum
    if (isShared) return free > total * RESERVED_FRACTION
    const share = free * (1 / freeFraction - 1)
    return count < share && count + this.#countInOthers(holder) < perHolder
  }

  #countInOthers(holder: string): number {
    let sum = 0
    for (const counts of this.#otherProcesses.values()) sum += counts.get(holder) ?? 0
    return sum
  }
}
