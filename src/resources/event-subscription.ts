import { EVENT_TYPES, TRAFFIC_FIELDS } from './event-types.ts'
import { common, defineResource, editable } from './schema/define.ts'
import {
  byService,
  described,
  type Fields,
  list,
  object,
  references,
  required,
  text,
  withExamples,
} from './schema/value.ts'

const sourceFields = {
  type: described(
    required(
      withExamples(
        text(64, (value) => (EVENT_TYPES.has(value) ? undefined : `"${value}" is not a known event type.`)),
        EVENT_TYPES,
      ),
    ),
    'The event type, such as ip_policy_created.v0.',
    'ip_policy_created.v0',
  ),
  filter: described(text(4096), 'For traffic events only: a CEL expression that selects the events to send.'),
  fields: described(list(text(128), { maxItems: 100 }), 'For traffic events only: the fields to send.'),
  uri: described(byService(text(2048)), 'The address of this object in the API.'),
} satisfies Fields

/** One event type of a subscription; traffic events also select fields. */
export const eventSource = object(sourceFields, {
  rule({ type, fields, filter }) {
    const allowed = TRAFFIC_FIELDS[type]
    if (allowed === undefined) {
      const field = fields.length > 0 ? 'fields' : filter !== '' ? 'filter' : undefined
      return field && { field, message: `only traffic events have it, not ${type}.` }
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
  description: 'Which events are sent to which destinations.',
  path: '/event_subscriptions',
  prefix: 'esb',
  listKey: 'event_subscriptions',
  event: 'event_subscription',
  roles: { change: 'admin' },
  fields: {
    ...common,
    sources: editable(sources, 'The events of the subscription.', [{ type: 'ip_policy_created.v0' }]),
    destinations: editable(
      references(['ed'], 'destination_ids', { maxItems: 50 }),
      'The destinations that receive the events.',
    ),
  },
})
