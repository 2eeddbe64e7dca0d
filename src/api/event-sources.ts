import { type TSchema, Type } from 'typebox'
import { EventSubscription, eventSource } from '../resources/index.ts'
import { recordOf } from '../store/index.ts'
import type { Call } from './call.ts'
import { find, rewrite } from './crud.ts'
import { eventSubscriptions } from './event-destinations.ts'
import type { Operation } from './operations.ts'
import { problem } from './problems.ts'

type Body = Record<string, unknown>
type Source = { type: string; filter: string; fields: string[]; uri: string }

const PATH = '/event_subscriptions/{subscription_id}/sources'
const tag = 'event_subscriptions'

const sourceSchema = eventSource.read

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

async function change(
  call: Call,
  subscriptionId: string,
  alter: (sources: Source[]) => Source[],
): Promise<void> {
  await rewrite(eventSubscriptions, call, subscriptionId, {}, 'update', (record) => ({
    ...record,
    sources: alter(record.sources as Source[]),
  }))
}

const { type: _type, ...editable } = (eventSource.written as { properties: Record<string, TSchema> })
  .properties

/** Sources are parts of a subscription, addressed by their event type. */
export const eventSourceOperations: Operation[] = [
  {
    id: 'event_subscriptions.sources.create',
    summary: 'Add an event source to a subscription',
    tag,
    method: 'POST',
    path: PATH,
    body: eventSource.written,
    answer: sourceSchema,
    status: 201,
    async run(call, { params, body }) {
      const source = eventSource.check(body as Source, 'source')
      await change(call, params.subscription_id!, (sources) => {
        if (sources.some(({ type }) => type === source.type))
          throw problem('taken', `The subscription has a source of type ${source.type} already.`)
        return [...sources, source]
      })
      return show(source, call, params.subscription_id!)
    },
  },
  {
    id: 'event_subscriptions.sources.list',
    summary: 'List the event sources of a subscription',
    tag,
    method: 'GET',
    path: PATH,
    answer: Type.Object({ sources: Type.Array(sourceSchema), uri: Type.String() }),
    status: 200,
    async run(call, { params }) {
      const id = params.subscription_id!
      const sources = await sourcesOf(call, id)
      return { sources: sources.map((source) => show(source, call, id)), uri: addressOf(call, id) }
    },
  },
  {
    id: 'event_subscriptions.sources.get',
    summary: 'Get an event source of a subscription',
    tag,
    method: 'GET',
    path: `${PATH}/{type}`,
    answer: sourceSchema,
    status: 200,
    async run(call, { params }) {
      const sources = await sourcesOf(call, params.subscription_id!)
      return show(pick(sources, params.type!), call, params.subscription_id!)
    },
  },
  {
    id: 'event_subscriptions.sources.update',
    summary: 'Update an event source of a subscription',
    tag,
    method: 'PATCH',
    path: `${PATH}/{type}`,
    body: Type.Object(editable, { additionalProperties: false }),
    answer: sourceSchema,
    status: 200,
    async run(call, { params, body }) {
      let changed: Source | undefined
      await change(call, params.subscription_id!, (sources) => {
        const before = pick(sources, params.type!)
        const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
        const after = eventSource.check({ ...before, ...given }, 'source')
        changed = after
        return sources.map((source) => (source === before ? after : source))
      })
      return show(changed!, call, params.subscription_id!)
    },
  },
  {
    id: 'event_subscriptions.sources.delete',
    summary: 'Remove an event source from a subscription',
    tag,
    method: 'DELETE',
    path: `${PATH}/{type}`,
    status: 204,
    async run(call, { params }) {
      await change(call, params.subscription_id!, (sources) => {
        const gone = pick(sources, params.type!)
        return sources.filter((source) => source !== gone)
      })
      return undefined
    },
  },
]
