import type { Socket } from 'node:net'
import { sourceOf } from './source.ts'

/**
 * Counts connections by where they come from, so that one source cannot take all places. An IPv6 source is its /64:
 * a single customer has that many addresses.
 */
export class SourceLimit {
  readonly #perSource: number
  readonly #total: number
  readonly #counts = new Map<string, number>()
  #sum = 0

  constructor(perSource: number, total: number) {
    this.#perSource = perSource
    this.#total = total
  }

  /** Whether somebody from there has a place. */
  has(ip: string): boolean {
    return this.#counts.has(sourceOf(ip))
  }

  /** Gives a connection a place until it is closed, or closes it when there is none. */
  seat(socket: Socket): boolean {
    const leave = this.take(socket.remoteAddress ?? '')
    if (leave === undefined) socket.destroy()
    else socket.once('close', leave)
    return leave !== undefined
  }

  /** Takes a place; undefined when there is none. Call the answer once to give it back. */
  take(ip: string): (() => void) | undefined {
    const source = sourceOf(ip)
    const count = this.#counts.get(source) ?? 0
    if (count >= this.#perSource || this.#sum >= this.#total) return undefined
    this.#counts.set(source, count + 1)
    this.#sum++
    let taken = true
    return () => {
      if (!taken) return
      taken = false
      this.#sum--
      const left = this.#counts.get(source)! - 1
      if (left === 0) this.#counts.delete(source)
      else this.#counts.set(source, left)
    }
  }
}
