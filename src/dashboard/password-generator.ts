import type { Secret } from '../base/secret.ts'
import { type AuditEntry, type DurableStore, openDashboardSessions } from '../store/index.ts'
import { makePassword, type Passwords } from './passwords.ts'
import { createSignIns } from './sign-in-store.ts'

/**
 * Makes a password for a user, in place of whatever they signed in with: a second factor is switched off as well,
 * since this is also the way back for somebody who lost the device. Every session of the user ends.
 */
export async function givePassword(
  { store, passwords }: { store: DurableStore; passwords: Passwords },
  user: { readonly account: string; readonly id: string; readonly email: string },
  audit: AuditEntry,
): Promise<Secret> {
  const made = makePassword()
  const password = await passwords.hash(made.reveal())
  await createSignIns({ store }).change(user, audit, () => ({
    userId: user.id,
    account: user.account,
    email: user.email,
    password,
    secondFactor: undefined,
    offered: undefined,
    usedStep: 0,
  }))
  await openDashboardSessions(store).removeOf(user.id)
  return made
}
