import { checkFilter, FilterError, TestEventFailed } from '../../../events/index.ts'
import { EventDestination, EventSubscription } from '../../../resources/index.ts'
import type { ApiDependencies } from '../../config.ts'
import { auditEntry, crud, find } from '../../crud/crud.ts'
import { type ApiOperation, operation } from '../../crud/operations.ts'
import { fieldProblem, problem } from '../../problems.ts'
import { testEventRoute } from './test-event-route.ts'

type Target = Record<string, unknown>

function targetKind(target: Target): string | undefined {
  return Object.keys(target).find((member) => target[member] !== null)
}

export const eventDestinations = crud(EventDestination, {
  async prepare(record, { existing, dependencies }) {
    const former = existing?.data.target
    if (former !== undefined && targetKind(former) !== targetKind(record.target))
      throw problem('target_kind_fixed')
    const { webhook, azure_logs_ingestion } = record.target
    await requireCallable('target.webhook.url', webhook?.url, former?.webhook?.url, dependencies)
    await requireCallable(
      'target.azure_logs_ingestion.logs_ingestion_uri',
      azure_logs_ingestion?.logs_ingestion_uri,
      former?.azure_logs_ingestion?.logs_ingestion_uri,
      dependencies,
    )
    return { record }
  },
  async view(row, _record, { dependencies, principal }) {
    return { status: (await dependencies.events?.status(principal.accountId, row.id)) ?? null }
  },
})

/** Rejects a new URL that the server would not call: otherwise every delivery would fail later. */
async function requireCallable(
  field: string,
  url: string | undefined,
  former: string | undefined,
  { outbound }: ApiDependencies,
): Promise<void> {
  const rejection = url === undefined || url === former ? undefined : await outbound.check(url)
  if (rejection !== undefined) throw fieldProblem(field, 'invalid_field', `${field}: ${rejection.message}`)
}

/** Rejects invalid filters when they are written. */
function checkFilters(sources: readonly { type: string; filter: string }[]): void {
  for (const [index, { type, filter }] of sources.entries()) {
    try {
      checkFilter(type, filter)
    } catch (error) {
      const field = `sources[${index}].filter`
      throw error instanceof FilterError
        ? fieldProblem(field, 'invalid_field', `${field}: ${error.message}`)
        : error
    }
  }
}

export const eventSubscriptions = crud(EventSubscription, {
  async prepare(record) {
    checkFilters(record.sources)
    return { record }
  },
  async view(row, { sources }, { config }) {
    const address = `${config.apiUrl()}/event_subscriptions/${row.id}/sources`
    return { sources: sources.map((source) => ({ ...source, uri: `${address}/${source.type}` })) }
  },
})

/** Tests a destination: sends one event at once and reports its failure. */
export const testEventOperation: ApiOperation = operation(testEventRoute, async (call, { params }) => {
  const id = params.id
  await find(EventDestination, call, id, {})
  const { events } = call.dependencies
  if (events === undefined) throw problem('conflict', 'This server delivers no events.')
  const result = await events.sendTest(call.principal.accountId, id).catch((error: unknown) => {
    throw error instanceof TestEventFailed ? problem('test_event_failed', error.message) : error
  })
  await call.store.write({}, (tx) => tx.audit(auditEntry(call, id)))
  return { ...result }
})
