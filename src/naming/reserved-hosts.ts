import { reverseLabels } from '../base/domain.ts'
import type { Reader } from '../store/index.ts'

/** Names whose reservation covers this host: the host itself, and a wildcard for each domain above it. */
function coveringNames(host: string): string[] {
  const labels = host.replace(/^\*\./, '').split('.')
  const wildcards = labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)
  return [host, ...wildcards]
}

/** The account's reservation that covers the host, other than `exceptId`. */
export async function findReservation(
  host: string,
  reader: Pick<Reader, 'holder'>,
  accountId: string,
  exceptId?: string,
): Promise<string | undefined> {
  for (const name of coveringNames(host)) {
    const holder = await reader.holder('domain', reverseLabels(name))
    if (holder?.account === accountId && holder.id !== exceptId) return holder.id
  }
  return undefined
}
