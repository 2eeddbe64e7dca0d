import type { CaptureView } from '../../../agent/local-api/page-data.ts'
import { PairTable } from '../message/pair-table.tsx'

type Action = NonNullable<CaptureView['policy']>[number]

/** What the traffic policies of the server did with the request: the rules that matched, and the result of each action. */
export function PolicyActions({ actions }: { actions: readonly Action[] }) {
  return [...Map.groupBy(actions, ({ endpoint }) => endpoint)].map(([endpoint, group]) => (
    <PairTable
      key={endpoint}
      caption={`Traffic policy of ${endpoint || 'the endpoint'}`}
      pairs={group.map(({ phase, rule, name, action, error }) => [
        `Rule ${rule}${name === '' ? '' : ` “${name}”`}`,
        `${phase}: ${action} ${error === undefined ? 'ran' : `failed. ${error}`}`,
      ])}
    />
  ))
}
