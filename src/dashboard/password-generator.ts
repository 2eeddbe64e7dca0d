import type { Secret } from '../base/secret.ts'
import { type AuditEntry, type DurableStore, openDashboardSessions } from '../store/index.ts'
import { generatePassword, type Passwords } from './passwords.ts'
import { createSignInStore } from './sign-in-store.ts'

/**
 * Makes a password for a user, in place of whatever they signed in with: a second factor is switched off as well,
 * since this is also the way back for somebody who lost the device. Every session of the user ends.
 */
export async function givePassword(
  { store, passwords }: { store: DurableStore; passwords: Passwords },
  user: { readonly account: string; readonly id: string; readonly email: string },
  audit: AuditEntry,
): Promise<Secret> {
  const generated = generatePassword()
  const password = await passwords.hash(generated.reveal())
  await createSignInStore({ store }).change(user, audit, () => ({
    userId: user.id,
    account: user.account,
    email: user.email,
    password,
    secondFactor: undefined,
    pendingSecondFactor: undefined,
    usedStep: 0,
  }))
  await openDashboardSessions(store).removeOf(user.id)
  return generated
}
