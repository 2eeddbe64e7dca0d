import { type TSchema, Type } from 'typebox'
import { describedSchema, EventSubscription, eventSource } from '../../../resources/index.ts'
import type { ApiRoute } from '../../routes.ts'

const path = '/event_subscriptions/{subscription_id}/sources' as const
const itemPath = `${path}/{type}` as const
const tag = 'event_subscriptions'
const { roles } = EventSubscription
const response = eventSource.read
const { type: _type, ...editable } = (eventSource.written as { properties: Record<string, TSchema> })
  .properties

/** Sources are parts of a subscription, addressed by their event type. */
export const eventSourceRoutes = {
  create: {
    id: 'event_subscriptions.sources.create',
    summary: 'Add an event source to a subscription',
    tag,
    method: 'POST',
    path,
    body: eventSource.written,
    response,
    status: 201,
    requires: roles.change,
  },
  list: {
    id: 'event_subscriptions.sources.list',
    summary: 'List the event sources of a subscription',
    tag,
    method: 'GET',
    path,
    response: Type.Object({
      sources: describedSchema(Type.Array(response), EventSubscription.fields.sources.value),
      uri: describedSchema(Type.String(), EventSubscription.fields.uri.value),
    }),
    status: 200,
    requires: roles.read,
  },
  get: {
    id: 'event_subscriptions.sources.get',
    summary: 'Get an event source of a subscription',
    tag,
    method: 'GET',
    path: itemPath,
    response,
    status: 200,
    requires: roles.read,
  },
  update: {
    id: 'event_subscriptions.sources.update',
    summary: 'Update an event source of a subscription',
    tag,
    method: 'PATCH',
    path: itemPath,
    body: Type.Object(editable, { additionalProperties: false }),
    response,
    status: 200,
    requires: roles.change,
  },
  delete: {
    id: 'event_subscriptions.sources.delete',
    summary: 'Remove an event source from a subscription',
    tag,
    method: 'DELETE',
    path: itemPath,
    status: 204,
    requires: roles.change,
  },
} satisfies Record<string, ApiRoute>
