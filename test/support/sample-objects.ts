import assert from 'node:assert/strict'
import type { ApiRoute } from '../../src/api/routes.ts'
import { ApplicationSession, ApplicationUser, ServiceUser } from '../../src/resources/index.ts'
import type { ApiClient } from './api.ts'
import { type Body, collectionPath, moduleSamples, NO_SUCH_ID, type StoredKind, samples } from './samples.ts'

const EVENT_SOURCE = 'ip_policy_created.v0'

/** Fills the parameters of every path with ids of one account's objects; an unknown parameter fails the test. */
export class PathParameters {
  readonly #idsByTag = new Map<string, Record<string, string>>()
  readonly #client: ApiClient
  readonly #online: Record<string, string>
  readonly #signIn: () => Promise<{ user: string; session: string }>

  /** `signIn` records a new visitor; without it there is none. */
  constructor(
    client: ApiClient,
    online: { session: string; tunnel: string; endpoint: string },
    signIn = async () => ({ user: `au_${NO_SUCH_ID}`, session: `as_${NO_SUCH_ID}` }),
  ) {
    this.#client = client
    this.#signIn = signIn
    this.#online = {
      tunnel_sessions: online.session,
      tunnels: online.tunnel,
      endpoints: online.endpoint,
    }
  }

  /** The path of a route with ids filled in. With `overrides`, creates a new object with these fields for it. */
  async resolvePath(route: ApiRoute, overrides?: Body): Promise<string> {
    const params = [...route.path.matchAll(/\{([a-z_]+)\}/g)].map((match) => match[1]!)
    if (params.length === 0) return route.path
    const cached = overrides === undefined ? this.#idsByTag.get(route.tag) : undefined
    const ids = cached ?? (await this.#create(route.tag, overrides))
    if (overrides === undefined) this.#idsByTag.set(route.tag, ids)
    return route.path.replace(/\{([a-z_]+)\}/g, (_, name: string) => {
      const value = ids[name]
      assert.ok(value, `${route.id}: no value for the parameter ${name}`)
      return value
    })
  }

  async #create(tag: string, overrides?: Body): Promise<Record<string, string>> {
    const onlineId = this.#online[tag]
    if (onlineId !== undefined) return { id: onlineId }
    if (tag === ApplicationUser.tag) return { id: (await this.#signIn()).user }
    if (tag === ApplicationSession.tag) return { id: (await this.#signIn()).session }
    const kind = kindOf(tag)
    assert.ok(kind in samples, `${tag} has no sample`)
    const parents = (await samples[kind].parents?.(this.#client)) ?? {}
    const body = { ...(await samples[kind].create(this.#client)), ...overrides }
    const { id } = await this.#client.create(collectionPath(kind, parents), body)
    return { ...parents, id, subscription_id: id, type: EVENT_SOURCE }
  }
}

/** The kind of the objects behind a group of operations. */
const kindOf = (tag: string) => (tag === ServiceUser.tag ? ServiceUser.kind : tag) as StoredKind

/** A valid body for the route. */
export async function createBody(route: ApiRoute, client: ApiClient): Promise<Body | undefined> {
  if (route.body === undefined) return undefined
  const module = /\.([a-z_]+)\.replace$/.exec(route.id)?.[1]
  if (module !== undefined) return moduleSamples[module]!(client)
  if (route.id === 'event_subscriptions.sources.create') return { type: 'ip_policy_deleted.v0' }
  if (route.id.endsWith('.create')) return samples[kindOf(route.tag)].create(client)
  return {}
}
