import { isIP } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { parseHostPort } from '../../base/values/hostport.ts'
import { type DialSettings, proxyOf, resolveAll } from './dial.ts'
import { isLoopback, type ServerLocation, toServerName } from './location.ts'

const MAX_LEARNED_ADDRESSES = 32
/** Resolving a name may take this long; after that the name is dialled as it is. */
const RESOLVE_TIMEOUT_MS = 2000

/**
 * The addresses of a platform in the order to try them: the configured ones, then those learned from a server, each
 * group shuffled. The last successful address comes first, the last failed one comes last.
 */
export class ServerAddresses {
  readonly #dial: DialSettings
  readonly #random: () => number
  #learned: ServerLocation[] = []
  #lastAttempt: { readonly key: string; readonly succeeded: boolean } | undefined

  constructor(dial: DialSettings, random: () => number = Math.random) {
    this.#dial = dial
    this.#random = random
  }

  /** The order of the next round over all addresses. */
  async nextRound(configured: readonly ServerLocation[]): Promise<readonly ServerLocation[]> {
    const configuredAddresses = new Set(configured.map(toHostPort))
    const learned = this.#learned.filter((location) => !configuredAddresses.has(toHostPort(location)))
    const round = [
      ...this.#shuffle((await Promise.all(configured.map((each) => this.#expand(each)))).flat()),
      ...this.#shuffle(learned),
    ]
    const lastTried = round.filter((location) => attemptKey(location) === this.#lastAttempt?.key)
    const others = round.filter((location) => !lastTried.includes(location))
    return this.#lastAttempt?.succeeded ? [...lastTried, ...others] : [...others, ...lastTried]
  }

  /** Records how an attempt, or the session it led to, ended. */
  recordOutcome(location: ServerLocation, succeeded: boolean): void {
    this.#lastAttempt = { key: attemptKey(location), succeeded }
  }

  /** Replaces the learned addresses with those the server at `location` announced. */
  learn(location: ServerLocation, addresses: readonly string[]): void {
    this.#learned = addresses.slice(0, MAX_LEARNED_ADDRESSES).flatMap((address) => {
      const { host: rawHost, port } = parseHostPort(address) ?? {}
      const host = rawHost?.replace(/^\[|\]$/g, '')
      if (host === undefined || port === undefined) return []
      const loopback = isLoopback(host)
      // A loopback address of another machine would mean this machine.
      if (loopback && !location.loopback) return []
      const announcedUnder =
        isIP(host) === 0 ? undefined : (location.announcedUnder ?? toServerName(location.host))
      return [{ ...location, host, port, loopback, announcedUnder, addresses: undefined }]
    })
  }

  /** The server at `location` asks for the next session elsewhere: at these addresses first, at its own last. */
  moveOn(location: ServerLocation, addresses: readonly string[]): void {
    if (addresses.length > 0) this.learn(location, addresses)
    this.recordOutcome(location, addresses.length === 0)
  }

  /** The nodes that the server named, the one that named them first. */
  get nodes(): readonly ServerLocation[] {
    return this.#learned
  }

  /**
   * Where to open a leg of a session that began at `home`: consecutive legs at consecutive nodes, the home first, which is
   * the first that it announced. Every second attempt is at the address that is known to work.
   */
  forLeg(home: ServerLocation, number: number, failures: number): ServerLocation {
    const node = this.#learned[(number + Math.floor(failures / 2)) % (this.#learned.length || 1)]
    return node === undefined || failures % 2 === 1 ? home : node
  }

  /** Expands a name to all its addresses: one of them may be a node that does not answer. */
  async #expand(location: ServerLocation): Promise<ServerLocation[]> {
    if (location.loopback || proxyOf(location, this.#dial) !== undefined) return [location]
    // A name that cannot be resolved fails with its reason when it is dialled.
    const timeout = delay(RESOLVE_TIMEOUT_MS, [], { ref: false })
    const addresses = await Promise.race([resolveAll(location.host, this.#dial), timeout]).catch(() => [])
    if (addresses.length < 2) return [location]
    return addresses.map((_, index) => ({
      ...location,
      addresses: [...addresses.slice(index), ...addresses.slice(0, index)],
    }))
  }

  #shuffle<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, rank: this.#random() }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ item }) => item)
  }
}

function toHostPort({ host, port }: ServerLocation): string {
  return `${host}:${port}`
}

function attemptKey(location: ServerLocation): string {
  return `${toHostPort(location)}/${location.addresses?.[0] ?? ''}`
}
