import { setTimeout as delay } from 'node:timers/promises'
import type { Outbound } from '../../../base/outbound/outbound.ts'
import type { Logger } from '../../../base/process/log.ts'
import { errorMessage } from '../../../base/text/error-message.ts'
import { followCnames, isDelegatedHere } from '../client/dns-preflight.ts'
import type { NameResolver } from '../client/resolver.ts'
import { Propagation } from './propagation.ts'
import { type DnsProvider, DnsProviderError, type ProviderZone } from './provider.ts'
import type { ConfiguredProvider } from './providers.ts'

/** A TXT record at the DNS provider. */
export interface ChallengeRecord {
  readonly name: string
  readonly value: string
}

const POLL_MS = 2000

/** The challenge records that are published through the operator's DNS provider instead of our own name server. */
export class ChallengeRecords {
  readonly #provider: ConfiguredProvider
  readonly #outbound: Outbound
  readonly #resolver: NameResolver
  readonly #nameServers: readonly string[]
  readonly #propagation: Propagation
  readonly #log: Logger

  constructor(options: {
    provider: ConfiguredProvider
    outbound: Outbound
    resolver: NameResolver
    /** The names of our own name server. */
    nameServers: readonly string[]
    log: Logger
    /** The port of the authoritative servers. */
    port?: number | undefined
  }) {
    this.#provider = options.provider
    this.#outbound = options.outbound
    this.#resolver = options.resolver
    this.#nameServers = options.nameServers
    this.#propagation = new Propagation(options.resolver, options.port)
    this.#log = options.log
  }

  /**
   * Where the record of a challenge has to be published: at its name, or at the end of its CNAME records. Undefined when
   * our own name server answers for that name.
   */
  async locate(challengeName: string): Promise<string | undefined> {
    const name = (await followCnames(challengeName, this.#resolver)).at(-1) ?? challengeName
    return (await isDelegatedHere(name, this.#resolver, this.#nameServers)) ? undefined : name
  }

  /** Throws unless the provider has a zone for every name. */
  async requireZones(names: readonly string[], signal: AbortSignal): Promise<void> {
    const provider = await this.#open(signal)
    for (const name of new Set(names)) await this.#requireZone(provider, name)
  }

  async publish(records: readonly ChallengeRecord[], signal: AbortSignal): Promise<void> {
    const provider = await this.#open(signal)
    for (const [name, values] of groupByName(records))
      await provider.addTxt(await this.#requireZone(provider, name), name, values)
  }

  /** Removes records. Returns those that are still there, because the provider failed. */
  async remove(records: readonly ChallengeRecord[], signal: AbortSignal): Promise<ChallengeRecord[]> {
    const failed: ChallengeRecord[] = []
    for (const [name, values] of groupByName(records))
      try {
        const provider = await this.#open(signal)
        const zone = await provider.findZone(name)
        if (zone === undefined) this.#log.warn({ name }, 'challenge record left behind: no such zone')
        else await provider.removeTxt(zone, name, values)
      } catch (error) {
        if (signal.aborted) throw error
        this.#log.warn({ name, err: error }, 'challenge record not removed')
        failed.push(...values.map((value) => ({ name, value })))
      }
    return failed
  }

  /** Waits until all name servers of the zones have the records. Returns a name that is not visible at the deadline. */
  async waitUntilVisible(
    records: readonly ChallengeRecord[],
    { timeoutMs, signal }: { timeoutMs: number; signal: AbortSignal },
  ): Promise<string | undefined> {
    const deadline = performance.now() + timeoutMs
    for (const [name, values] of groupByName(records)) {
      const findMissing = await this.#propagation.watch(name, values)
      while ((await findMissing()).length > 0) {
        if (performance.now() > deadline) return name
        await delay(Math.min(POLL_MS, timeoutMs / 10), undefined, { signal })
      }
    }
    return undefined
  }

  /** A credentials file that cannot be read any more fails like the provider itself. */
  #open(signal: AbortSignal): Promise<DnsProvider> {
    return this.#provider.open({ outbound: this.#outbound, signal }).catch((error) => {
      throw new DnsProviderError(errorMessage(error), { cause: error })
    })
  }

  async #requireZone(provider: DnsProvider, name: string): Promise<ProviderZone> {
    const zone = await provider.findZone(name)
    if (zone !== undefined) return zone
    throw new DnsProviderError(
      `${this.#provider.title} has no zone for ${name} that these credentials may change. Check --dns-provider and its credentials, or create a CNAME record for ${name} that points into a zone that they may change.`,
    )
  }
}

function groupByName(records: readonly ChallengeRecord[]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const { name, value } of records) groups.set(name, [...(groups.get(name) ?? []), value])
  return groups
}
