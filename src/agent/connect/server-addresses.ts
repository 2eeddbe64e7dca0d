import { setTimeout as delay } from 'node:timers/promises'
import { parseHostPort } from '../../base/hostport.ts'
import { type DialSettings, proxyOf, resolveAll } from './dial.ts'
import { isLoopback, type ServerLocation } from './location.ts'

const MAX_LEARNED = 32
/** How long the addresses of a name are waited for; without them the name is dialled as one. */
const MAX_RESOLVE_MS = 2000

/**
 * The addresses of a platform in the order in which they are tried: those that are configured, then those that a server
 * has named, each kind at random. The one that worked last comes first, the one that failed last comes last.
 */
export class ServerAddresses {
  readonly #dial: DialSettings
  readonly #random: () => number
  #learned: ServerLocation[] = []
  #last: { readonly key: string; readonly worked: boolean } | undefined

  constructor(dial: DialSettings, random: () => number = Math.random) {
    this.#dial = dial
    this.#random = random
  }

  /** One round over all of them. */
  async round(configured: readonly ServerLocation[]): Promise<readonly ServerLocation[]> {
    const known = new Set(configured.map(hostPort))
    const learned = this.#learned.filter((location) => !known.has(hostPort(location)))
    const round = [
      ...this.#shuffled((await Promise.all(configured.map((each) => this.#expand(each)))).flat()),
      ...this.#shuffled(learned),
    ]
    const last = round.filter((location) => keyOf(location) === this.#last?.key)
    const others = round.filter((location) => !last.includes(location))
    return this.#last?.worked ? [...last, ...others] : [...others, ...last]
  }

  /** Notes how an attempt, or the session it led to, has ended. */
  ended(location: ServerLocation, worked: boolean): void {
    this.#last = { key: keyOf(location), worked }
  }

  /** Takes over what the server at `location` says about its platform. */
  learn(location: ServerLocation, addresses: readonly string[]): void {
    this.#learned = addresses.slice(0, MAX_LEARNED).flatMap((address) => {
      const { host: written, port } = parseHostPort(address) ?? {}
      const host = written?.replace(/^\[|\]$/g, '')
      if (host === undefined || port === undefined) return []
      const loopback = isLoopback(host)
      // Seen from here, a loopback address of another machine is this machine.
      if (loopback && !location.loopback) return []
      return [{ ...location, host, port, loopback, addresses: undefined }]
    })
  }

  /** Every address of a name counts: behind one of them may be a node that does not answer. */
  async #expand(location: ServerLocation): Promise<ServerLocation[]> {
    if (location.loopback || proxyOf(location, this.#dial) !== undefined) return [location]
    // A name that cannot be resolved fails, with its reason, when it is dialled.
    const late = delay(MAX_RESOLVE_MS, [], { ref: false })
    const addresses = await Promise.race([resolveAll(location.host, this.#dial), late]).catch(() => [])
    if (addresses.length < 2) return [location]
    return addresses.map((_, index) => ({
      ...location,
      addresses: [...addresses.slice(index), ...addresses.slice(0, index)],
    }))
  }

  #shuffled<T>(items: readonly T[]): T[] {
    return items
      .map((item) => ({ item, place: this.#random() }))
      .sort((one, other) => one.place - other.place)
      .map(({ item }) => item)
  }
}

function hostPort({ host, port }: ServerLocation): string {
  return `${host}:${port}`
}

function keyOf(location: ServerLocation): string {
  return `${hostPort(location)}/${location.addresses?.[0] ?? ''}`
}
