import { formatTimestamp } from '../base/values/clock.ts'
import type { KsuidGenerator } from '../base/values/id.ts'
import { type Resource, resourceOfPrefix } from '../resources/index.ts'
import type { Change } from '../store/index.ts'

/** The principal that caused an event. */
export interface EventPrincipal {
  readonly id: string
  /** Email address or name. */
  readonly subject: string
  readonly source: 'API' | 'Dashboard'
  readonly credential: { readonly id: string; readonly uri: string } | null
}

/** The content of an event before it is serialized. */
export interface EventInput {
  readonly type: string
  readonly accountId: string
  /** In milliseconds since 1970. */
  readonly time: number
  /** Grows from one event of an object to the next. */
  readonly sequence: number
  readonly object: unknown
  readonly principal: EventPrincipal | null
}

/** An event with its id and the JSON to deliver. */
export interface SerializedEvent {
  readonly id: string
  readonly type: string
  readonly time: number
  readonly body: string
}

/** Assigns an id to an event and serializes it once: every attempt sends the same bytes. */
export function serializeEvent(ids: KsuidGenerator, input: EventInput): SerializedEvent {
  const { type, accountId, time, sequence, object, principal } = input
  const id = ids.next(time)
  const body = JSON.stringify({
    event_id: id,
    event_type: type,
    event_timestamp: new Date(time).toISOString(),
    account_id: accountId,
    sequence,
    object,
    principal,
  })
  return { id, type, time, body }
}

/** The URI of a resource, from its id alone. */
export function uriOf(apiUrl: string, id: string): string {
  const resource = resourceOfPrefix(id.slice(0, id.indexOf('_')))
  if (resource === undefined || resource.parents.length > 0) return ''
  return `${resource.relativeUri ? '' : apiUrl}${resource.path}/${id}`
}

/** Renders the API object of a change as of that revision; changes never contain secrets. */
export function renderObject(resource: Resource, { id, data, createdAt }: Change, apiUrl: string): unknown {
  const path = resource.path.replace(/\{([a-z_]+)\}/g, (_, parent: string) => String(data[parent] ?? ''))
  return resource.render(
    data,
    {
      id,
      uri: `${resource.relativeUri ? '' : apiUrl}${path}/${id}`,
      created_at: formatTimestamp(createdAt),
    },
    { uriOf: (target) => uriOf(apiUrl, target), secrets: false },
  )
}
