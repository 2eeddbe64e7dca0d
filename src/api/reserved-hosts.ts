import { reversed } from '../base/domain.ts'
import type { Transaction } from '../store/index.ts'
import type { Call } from './call.ts'

/** `app.example.com` of `app.example.com:443`. */
export function hostOf(hostport: string): string {
  return hostport.slice(0, hostport.lastIndexOf(':'))
}

/** Names whose reservation covers this host: the host itself, and a wildcard for each domain above it. */
function coveringNames(host: string): string[] {
  const labels = host.replace(/^\*\./, '').split('.')
  const wildcards = labels.slice(1).map((_, index) => `*.${labels.slice(index + 1).join('.')}`)
  return [host, ...wildcards]
}

/** Whether the account has reserved the host, by something other than the reservation `except`. */
export async function isReserved(
  host: string,
  { tx, principal }: Call & { tx: Transaction },
  except?: string,
): Promise<boolean> {
  for (const name of coveringNames(host)) {
    const holder = await tx.holder('domain', reversed(name))
    if (holder?.account === principal.accountId && holder.id !== except) return true
  }
  return false
}
