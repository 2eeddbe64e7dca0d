import type { Logger } from '../../base/process/log.ts'
import { errorMessage } from '../../base/text/error-message.ts'
import { TRAFFIC_FIELDS } from '../../resources/index.ts'
import { type Filter, parseFilter } from '../filter.ts'
import { filterEnvironmentOf, type TrafficKind, trafficKinds } from '../traffic/traffic.ts'
import { TrafficRecorder } from '../traffic/traffic-event.ts'

/** What matters of the data of a subscription row. */
interface SubscriptionData {
  readonly sources: readonly { type: string; filter: string; fields: readonly string[] }[]
  readonly destination_ids: readonly string[]
}

/** One source of one subscription. */
export interface EventRoute {
  readonly destinations: readonly string[]
  /** For traffic events: the filter, and the recorder of the selected fields. */
  readonly traffic?: { readonly matches: Filter<unknown>; readonly recorder: TrafficRecorder<unknown> }
}

const NO_ROUTES: readonly EventRoute[] = []

/** All subscriptions, compiled: checking for subscribers costs two map lookups. */
export class Subscriptions {
  readonly #log: Logger
  readonly #owners = new Map<string, string>()
  readonly #accounts = new Map<string, Map<string, ReadonlyMap<string, EventRoute>>>()
  readonly #routes = new Map<string, Map<string, EventRoute[]>>()

  constructor(log: Logger) {
    this.#log = log
  }

  hasRoutes(type: string, account: string): boolean {
    return this.#routes.get(type)?.has(account) ?? false
  }

  routes(type: string, account: string): readonly EventRoute[] {
    return this.#routes.get(type)?.get(account) ?? NO_ROUTES
  }

  set(id: string, account: string, data: SubscriptionData): void {
    const subscriptions = this.#accounts.get(account) ?? new Map<string, ReadonlyMap<string, EventRoute>>()
    const previous = subscriptions.get(id)
    const routes = this.#compile(id, account, data)
    this.#owners.set(id, account)
    this.#accounts.set(account, subscriptions.set(id, routes))
    this.#rebuildRoutes(account, [...(previous?.keys() ?? []), ...routes.keys()])
  }

  remove(id: string): void {
    const account = this.#owners.get(id)
    if (account === undefined) return
    this.#owners.delete(id)
    const subscriptions = this.#accounts.get(account)!
    const previous = subscriptions.get(id)!
    subscriptions.delete(id)
    this.#rebuildRoutes(account, previous.keys())
    if (subscriptions.size === 0) this.#accounts.delete(account)
  }

  clear(): void {
    this.#owners.clear()
    this.#accounts.clear()
    this.#routes.clear()
  }

  #compile(
    id: string,
    account: string,
    { sources, destination_ids }: SubscriptionData,
  ): Map<string, EventRoute> {
    const routes = new Map<string, EventRoute>()
    const destinations = destination_ids
    if (destinations.length === 0) return routes
    for (const { type, filter, fields } of sources) {
      const kind = trafficKinds[type] as TrafficKind<unknown> | undefined
      if (kind === undefined) routes.set(type, { destinations })
      else {
        const selectedFields = fields.length === 0 ? [...(TRAFFIC_FIELDS[type] ?? [])] : fields
        try {
          const matches = parseFilter(filter, filterEnvironmentOf(type))
          const recorder = new TrafficRecorder(type, account, selectedFields, kind)
          routes.set(type, { destinations, traffic: { matches, recorder } })
        } catch (error) {
          const reason = errorMessage(error)
          this.#log.error({ subscription: id, type, reason }, 'invalid event filter')
        }
      }
    }
    return routes
  }

  #rebuildRoutes(account: string, types: Iterable<string>): void {
    const subscriptions = [...(this.#accounts.get(account)?.values() ?? [])]
    for (const type of new Set(types)) {
      const routes = subscriptions.flatMap((routesByType) => routesByType.get(type) ?? [])
      const accounts = this.#routes.get(type) ?? new Map<string, EventRoute[]>()
      if (routes.length > 0) accounts.set(account, routes)
      else accounts.delete(account)
      if (accounts.size > 0) this.#routes.set(type, accounts)
      else this.#routes.delete(type)
    }
  }
}

/** Throws `FilterError` with the reason when a filter is invalid for events of this type. */
export function checkFilter(type: string, filter: string): void {
  parseFilter(filter, filterEnvironmentOf(type))
}
