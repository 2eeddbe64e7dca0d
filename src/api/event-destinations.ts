import { EventDestination, EventSubscription } from '../resources/index.ts'
import { crud } from './crud.ts'
import { problem } from './problems.ts'

type Target = Record<string, unknown>

function kindOf(target: Target): string | undefined {
  return Object.keys(target).find((member) => target[member] !== null)
}

export const eventDestinations = crud(EventDestination, {
  async prepare(record, { before }) {
    if (before !== undefined && kindOf(before.data.target as Target) !== kindOf(record.target as Target))
      throw problem('target_kind_fixed')
    return { record }
  },
})

export const eventSubscriptions = crud(EventSubscription, {
  async view(row, { sources }, { config }) {
    const address = `${config.apiUrl()}/event_subscriptions/${row.id}/sources`
    return { sources: sources.map((source) => ({ ...source, uri: `${address}/${source.type}` })) }
  },
})
