import { common, defineResource, editable } from './define.ts'
import { EVENT_TYPES, TRAFFIC_FIELDS } from './event-types.ts'
import { byService, type Fields, list, object, references, required, text, withExamples } from './value.ts'

const sourceFields = {
  type: required(
    withExamples(
      text(64, (value) => (EVENT_TYPES.has(value) ? undefined : `"${value}" is not a known event type.`)),
      EVENT_TYPES,
    ),
  ),
  filter: text(4096),
  fields: list(text(128), { maxItems: 100 }),
  uri: byService(text(2048)),
} satisfies Fields

/** One event type of a subscription; traffic events also select fields. */
export const eventSource = object(sourceFields, {
  rule({ type, fields, filter }) {
    const allowed = TRAFFIC_FIELDS[type]
    if (allowed === undefined) {
      const field = fields.length > 0 ? 'fields' : filter !== '' ? 'filter' : undefined
      return field && { field: field, message: `only traffic events have it, not ${type}.` }
    }
    const unknownIndex = fields.findIndex((field) => !allowed.has(field))
    return unknownIndex === -1
      ? undefined
      : { field: `fields[${unknownIndex}]`, message: `${type} has no field "${fields[unknownIndex]}".` }
  },
})

const sources = list(eventSource, {
  maxItems: 200,
  rule: (items) =>
    new Set(items.map((item) => item.type)).size === items.length
      ? undefined
      : 'names the same event type twice.',
})

/** Which events go to which destinations. */
export const EventSubscription = defineResource({
  name: 'event subscription',
  path: '/event_subscriptions',
  prefix: 'esb',
  listKey: 'event_subscriptions',
  event: 'event_subscription',
  roles: { change: 'admin' },
  fields: {
    ...common,
    sources: editable(sources),
    destinations: editable(references(['ed'], 'destination_ids', { maxItems: 50 })),
  },
})
