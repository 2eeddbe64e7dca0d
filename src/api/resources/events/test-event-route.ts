import { Type } from 'typebox'
import { EventDestination } from '../../../resources/index.ts'
import { type ApiRoute, emptyBody, type ItemPath } from '../../routes.ts'

export const testEventRoute: ApiRoute<ItemPath> = {
  id: 'event_destinations.send_test_event',
  summary: 'Send a test event to an event destination immediately, bypassing the queue',
  tag: 'event_destinations',
  method: 'POST',
  path: '/event_destinations/{id}/send_test_event',
  body: emptyBody,
  response: Type.Object({ event_id: Type.String({ description: 'The ID of the test event.' }) }),
  status: 200,
  requires: EventDestination.roles.change,
}
