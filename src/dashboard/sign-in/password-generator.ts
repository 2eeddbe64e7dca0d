import type { Secret } from '../../base/values/secret.ts'
import { type AuditEntry, type DurableStore, openDashboardSessions } from '../../store/index.ts'
import { generatePassword, type Passwords } from './passwords.ts'
import { createSignInStore, hashPassword } from './sign-in-store.ts'

/**
 * Assigns a generated password to a user. Also removes the second factor, since this is the recovery path after losing
 * the device, and ends every session of the user.
 */
export async function assignNewPassword(
  { store, passwords }: { store: DurableStore; passwords: Passwords },
  user: { readonly account: string; readonly id: string; readonly email: string },
  audit: AuditEntry,
): Promise<Secret> {
  const generated = generatePassword()
  const signIns = createSignInStore({ store })
  const password = await hashPassword({ signIns, passwords }, user.email, generated.reveal())
  await signIns.change(user, audit, () => ({
    userId: user.id,
    account: user.account,
    email: user.email,
    password,
    secondFactor: undefined,
    pendingSecondFactor: undefined,
    usedStep: 0,
  }))
  await openDashboardSessions(store).removeByOwner(user.id)
  return generated
}
