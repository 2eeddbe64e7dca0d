import { reverseLabels } from '../base/domain.ts'
import type { Reader, Transaction } from '../store/index.ts'
import type { ApiCall } from './call.ts'

/** The host of a hostport: `app.example.com` for `app.example.com:443`. */
export function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(':'))
}

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

/** Whether a reservation of the account other than `exceptId` covers the host. */
export async function isReserved(
  host: string,
  { tx, principal }: ApiCall & { tx: Transaction },
  exceptId?: string,
): Promise<boolean> {
  return (await findReservation(host, tx, principal.accountId, exceptId)) !== undefined
}
