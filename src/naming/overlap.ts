import { reverseLabels } from '../base/values/domain.ts'
import type { NameSpans, Transaction } from '../store/index.ts'
import { claimNameOf, TCP_CLAIM_PREFIX } from './claims.ts'

/** The scopes in which an account can hold a name; holding it in any of them owns everything below it. */
const NAME_SCOPES = ['domain', 'agent_ingress']

const MAX_DESCENDANTS = 1000

/**
 * Why an account may not own a name. Owning a name owns everything below it: other accounts may reserve neither names
 * below it nor a name above names of others (`reserved`). An agent ingress counts too: its zone is delegated to the
 * platform, so DNS proves no other owner. Nor may a reservation take a name away from tunnels of other accounts, on any
 * node, that use it or used it recently (`in_use`, decision 91).
 */
export async function findOverlap(
  domain: string,
  tx: Pick<Transaction, 'holders' | 'holdersWithPrefix' | 'namesUsedByOthers'>,
  { accountId, platformDomain, spans }: { accountId: string; platformDomain: string; spans: NameSpans },
): Promise<'reserved' | 'in_use' | undefined> {
  const plain = domain.replace(/^\*\./, '')
  const labels = plain.split('.')
  const ancestors = labels.map((_, from) => labels.slice(from).join('.'))
  const end = ancestors.indexOf(platformDomain)
  const names = ancestors
    .slice(0, end === -1 ? ancestors.length : end)
    .flatMap((name) => [name, `*.${name}`])
    .map(reverseLabels)
  const prefix = `${reverseLabels(plain)}.`

  const used = await tx.namesUsedByOthers(accountId, { names, prefix, limit: 1 }, spans)
  if (used.length > 0) return 'in_use'
  const isOfOther = (holder: { account: string }) => holder.account !== accountId
  for (const scope of NAME_SCOPES) {
    if ([...(await tx.holders(scope, names)).values()].some(isOfOther)) return 'reserved'
    if ((await tx.holdersWithPrefix(scope, prefix, MAX_DESCENDANTS)).some(isOfOther)) return 'reserved'
  }
  return undefined
}

/** The first TCP address from `start` on, round-robin, that is neither reserved nor used by another account. */
export async function findFreeAddress(
  tx: Pick<Transaction, 'holder' | 'namesUsedByOthers'>,
  {
    accountId,
    host,
    ports: [first, last],
    start,
    spans,
  }: {
    accountId: string
    host: string
    ports: readonly [first: number, last: number]
    start: number
    spans: NameSpans
  },
): Promise<string | undefined> {
  const size = last - first + 1
  const query = { prefix: TCP_CLAIM_PREFIX, includeHeld: true, limit: size }
  const used = new Set(await tx.namesUsedByOthers(accountId, query, spans))
  for (let step = 0; step < size; step++) {
    const port = first + ((start + step) % size)
    const addr = `${host}:${port}`
    if (used.has(claimNameOf({ proto: 'tcp', port }).name)) continue
    if ((await tx.holder('address', addr)) === undefined) return addr
  }
  return undefined
}
