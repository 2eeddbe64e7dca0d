import { EventSubscription, eventSource } from '../resources/index.ts'
import { recordOf } from '../store/index.ts'
import type { Call } from './call.ts'
import { find, rewrite } from './crud.ts'
import { eventSubscriptions } from './event-destinations.ts'
import { eventSourceRoutes } from './event-source-routes.ts'
import { asSeenFrom, type Operation } from './operations.ts'
import { problem } from './problems.ts'

type Body = Record<string, unknown>
type Source = { type: string; filter: string; fields: string[]; uri: string }

function addressOf(call: Call, subscriptionId: string): string {
  return `${call.config.apiUrl()}/event_subscriptions/${subscriptionId}/sources`
}

function show(source: Source, call: Call, subscriptionId: string): Body {
  return { ...source, uri: `${addressOf(call, subscriptionId)}/${source.type}` }
}

async function sourcesOf(call: Call, subscriptionId: string): Promise<Source[]> {
  const row = await find(EventSubscription, call, subscriptionId, {})
  return recordOf(row).sources as Source[]
}

function pick(sources: readonly Source[], type: string): Source {
  const source = sources.find((candidate) => candidate.type === type)
  if (source === undefined) throw problem('unknown_event_source', type)
  return source
}

/** Changes the sources of a subscription; complaints about the one that `type` names read as about the body alone. */
async function change(
  call: Call,
  subscriptionId: string,
  type: string,
  alter: (sources: Source[], at: string) => Source[],
): Promise<void> {
  let at = ''
  await rewrite(eventSubscriptions, call, subscriptionId, {}, (record) => {
    const sources = record.sources as Source[]
    const index = sources.findIndex((source) => source.type === type)
    at = `sources[${index === -1 ? sources.length : index}]`
    return { ...record, sources: alter(sources, at) }
  }).catch((error) => {
    throw asSeenFrom(at, error)
  })
}

/** Sources are parts of a subscription, addressed by their event type. */
export const eventSourceOperations: Operation[] = [
  {
    ...eventSourceRoutes.create,
    async run(call, { params, body }) {
      const source = eventSource.check(body as Source, '')
      await change(call, params.subscription_id!, source.type, (sources) => {
        if (sources.some(({ type }) => type === source.type))
          throw problem('taken', `The subscription has a source of type ${source.type} already.`)
        return [...sources, source]
      })
      return show(source, call, params.subscription_id!)
    },
  },
  {
    ...eventSourceRoutes.list,
    async run(call, { params }) {
      const id = params.subscription_id!
      const sources = await sourcesOf(call, id)
      return { sources: sources.map((source) => show(source, call, id)), uri: addressOf(call, id) }
    },
  },
  {
    ...eventSourceRoutes.get,
    async run(call, { params }) {
      const sources = await sourcesOf(call, params.subscription_id!)
      return show(pick(sources, params.type!), call, params.subscription_id!)
    },
  },
  {
    ...eventSourceRoutes.update,
    async run(call, { params, body }) {
      let changed: Source | undefined
      await change(call, params.subscription_id!, params.type!, (sources, at) => {
        const before = pick(sources, params.type!)
        const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
        const after = eventSource.check({ ...before, ...given }, at)
        changed = after
        return sources.map((source) => (source === before ? after : source))
      })
      return show(changed!, call, params.subscription_id!)
    },
  },
  {
    ...eventSourceRoutes.delete,
    async run(call, { params }) {
      await change(call, params.subscription_id!, params.type!, (sources) => {
        const gone = pick(sources, params.type!)
        return sources.filter((source) => source !== gone)
      })
      return undefined
    },
  },
]
