import { EventSubscription, eventSource } from '../../../resources/index.ts'
import { recordOf } from '../../../store/index.ts'
import type { ApiCall } from '../../call.ts'
import { find, rewrite } from '../../crud/crud.ts'
import { type ApiOperation, operation, relativizeError } from '../../crud/operations.ts'
import { problem } from '../../problems.ts'
import { eventSubscriptions } from './event-destinations.ts'
import { eventSourceRoutes } from './event-source-routes.ts'

type Body = Record<string, unknown>
type Source = { type: string; filter: string; fields: string[]; uri: string }

function sourcesUri(call: ApiCall, subscriptionId: string): string {
  return `${call.config.apiUrl()}/event_subscriptions/${subscriptionId}/sources`
}

function renderSource(source: Source, call: ApiCall, subscriptionId: string): Body {
  return { ...source, uri: `${sourcesUri(call, subscriptionId)}/${source.type}` }
}

async function sourcesOf(call: ApiCall, subscriptionId: string): Promise<Source[]> {
  const row = await find(EventSubscription, call, subscriptionId, {})
  return recordOf(row).sources
}

function requireSource(sources: readonly Source[], type: string): Source {
  const source = sources.find((candidate) => candidate.type === type)
  if (source === undefined) throw problem('unknown_event_source', type)
  return source
}

/** Rewrites the sources of a subscription; errors about the source `type` name fields relative to the request body. */
async function rewriteSources(
  call: ApiCall,
  subscriptionId: string,
  type: string,
  update: (sources: Source[], path: string) => Source[],
): Promise<Source[]> {
  let path = ''
  const row = await rewrite(eventSubscriptions, call, subscriptionId, {}, (record) => {
    const sources = record.sources as Source[]
    const index = sources.findIndex((source) => source.type === type)
    path = `sources[${index === -1 ? sources.length : index}]`
    return { ...record, sources: update(sources, path) }
  }).catch((error) => {
    throw relativizeError(path, error)
  })
  return recordOf(row).sources as Source[]
}

/** Sources are parts of a subscription, addressed by their event type. */
export const eventSourceOperations: ApiOperation[] = [
  operation(eventSourceRoutes.create, async (call, { params, body }) => {
    const source = eventSource.check(body as Source, '')
    await rewriteSources(call, params.subscription_id, source.type, (sources) => {
      if (sources.some(({ type }) => type === source.type))
        throw problem('taken', `The subscription has a source of type ${source.type} already.`)
      return [...sources, source]
    })
    return renderSource(source, call, params.subscription_id)
  }),
  operation(eventSourceRoutes.list, async (call, { params }) => {
    const id = params.subscription_id
    const sources = await sourcesOf(call, id)
    return { sources: sources.map((source) => renderSource(source, call, id)), uri: sourcesUri(call, id) }
  }),
  operation(eventSourceRoutes.get, async (call, { params }) => {
    const sources = await sourcesOf(call, params.subscription_id)
    return renderSource(requireSource(sources, params.type), call, params.subscription_id)
  }),
  operation(eventSourceRoutes.update, async (call, { params, body }) => {
    const changes = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null))
    const updated = await rewriteSources(call, params.subscription_id, params.type, (sources, path) => {
      const current = requireSource(sources, params.type)
      const next = eventSource.check({ ...current, ...changes }, path)
      return sources.map((source) => (source === current ? next : source))
    })
    return renderSource(requireSource(updated, params.type), call, params.subscription_id)
  }),
  operation(eventSourceRoutes.delete, async (call, { params }) => {
    await rewriteSources(call, params.subscription_id, params.type, (sources) => {
      const removed = requireSource(sources, params.type)
      return sources.filter((source) => source !== removed)
    })
    return undefined
  }),
]
