import { createAccount, type NewAccount } from '../auth/index.ts'
import type { Clock } from '../base/clock.ts'
import { newId } from '../base/id.ts'
import type { Secret } from '../base/secret.ts'
import { givePassword, type Passwords } from '../dashboard/index.ts'
import type { AuditEntry, DurableStore } from '../store/index.ts'

/** A new account whose administrator can sign in to the dashboard. */
export interface MadeAccount extends NewAccount {
  readonly email: string
  readonly password: Secret
}

/** The audit record of a password that the operator has made for a user. */
export function operatorsPassword(account: string, userId: string, clock: Clock): AuditEntry {
  return {
    account,
    principal: undefined,
    credential: undefined,
    source: undefined,
    requestId: newId('op', clock.now()),
    action: 'make_password',
    kind: 'dashboard',
    object: userId,
    outcome: 'done',
    detail: 'operator',
  }
}

/** Makes an account, and a password for its administrator. */
export async function makeAccount(
  { store, passwords, clock }: { store: DurableStore; passwords: Passwords; clock: Clock },
  name: string,
  email: string,
): Promise<MadeAccount> {
  const made = await createAccount(store, { name, email, clock })
  const { accountId, userId } = made
  const password = await givePassword(
    { store, passwords },
    { account: accountId, id: userId, email },
    operatorsPassword(accountId, userId, clock),
  )
  return { ...made, email, password }
}
