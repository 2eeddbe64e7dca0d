import {
  FailoverBackend,
  resourceOfPrefix,
  TunnelGroupBackend,
  WeightedBackend,
} from '../../../resources/index.ts'
import type { CommitContext } from '../../call.ts'
import { crud } from '../../crud/crud.ts'
import { fieldProblem } from '../../problems.ts'

const MAX_DEPTH = 8
// The walk runs inside the transaction, which blocks other writers.
const MAX_DESCENDANTS = 1000

function childrenOf(data: Readonly<Record<string, unknown>>): string[] {
  const { backends } = data
  if (Array.isArray(backends)) return backends as string[]
  return typeof backends === 'object' && backends !== null ? Object.keys(backends) : []
}

/** Walks the tree below a backend and rejects one that would contain itself. */
async function rejectCycles(
  children: readonly string[],
  { id, tx, principal }: CommitContext,
): Promise<void> {
  const seen = new Set<string>()
  let level = children
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > MAX_DEPTH)
      throw fieldProblem(
        'backends',
        'invalid_field',
        `backends: backends may be nested at most ${MAX_DEPTH} levels deep.`,
      )
    const nextLevel: string[] = []
    for (const child of level) {
      if (child === id)
        throw fieldProblem('backends', 'invalid_field', `backends: ${id} would contain itself.`)
      if (seen.has(child)) continue
      seen.add(child)
      if (seen.size > MAX_DESCENDANTS)
        throw fieldProblem(
          'backends',
          'invalid_field',
          `backends: this backend would contain more than ${MAX_DESCENDANTS} others.`,
        )
      const resource = resourceOfPrefix(child.slice(0, child.indexOf('_')))
      const row = resource && (await tx.get(resource.kind, principal.accountId, child))
      if (row !== undefined) nextLevel.push(...childrenOf(row.data))
    }
    level = nextLevel
  }
}

export const tunnelGroupBackends = crud(TunnelGroupBackend, {
  async view(_row, { labels }, { dependencies, principal, renderContext }) {
    const tunnels = dependencies.online.tunnelsWith(principal.accountId, labels)
    return { tunnels: tunnels.map((id) => ({ id, uri: renderContext.uriOf(id) })) }
  },
})

export const weightedBackends = crud(WeightedBackend, {
  async commit(record, context) {
    await rejectCycles(Object.keys(record.backends), context)
    return record
  },
})

export const failoverBackends = crud(FailoverBackend, {
  async commit(record, context) {
    await rejectCycles(record.backends, context)
    return record
  },
})
