import { createAccount, type NewAccount } from '../../auth/index.ts'
import type { Clock } from '../../base/values/clock.ts'
import { newId } from '../../base/values/id.ts'
import type { Secret } from '../../base/values/secret.ts'
import type { AuditEntry, DurableStore, Store } from '../../store/index.ts'
import { assignNewPassword } from './password-generator.ts'
import type { Passwords } from './passwords.ts'
import { createSignInLink } from './sign-in-link.ts'

/** A new account whose administrator can sign in to the dashboard. */
export interface CreatedAccount extends NewAccount {
  readonly email: string
  readonly password: Secret
}

/** The dependencies for creating accounts and passwords. */
interface AccountDependencies {
  readonly store: DurableStore
  readonly passwords: Passwords
  readonly clock: Clock
}

/** A user whose password can be reset. */
interface UserRef {
  readonly account: string
  readonly id: string
  readonly email: string
}

/** The audit record of what the operator does on the machine itself. */
function operatorAudit({ clock }: AccountDependencies, user: UserRef, action: string): AuditEntry {
  return {
    account: user.account,
    principal: undefined,
    credential: undefined,
    source: undefined,
    requestId: newId('op', clock.now()),
    action,
    kind: 'dashboard',
    object: user.id,
    outcome: 'done',
    detail: 'operator',
  }
}

/** Resets the password of a user on behalf of the operator. */
export function resetPassword(dependencies: AccountDependencies, user: UserRef): Promise<Secret> {
  return assignNewPassword(dependencies, user, operatorAudit(dependencies, user, 'make_password'))
}

/** Creates a one-time link with which a user sets a password, on behalf of the operator. */
export function createPasswordLink(
  dependencies: AccountDependencies,
  user: UserRef,
  dashboardUrl: string,
): Promise<{ url: Secret; expiresAt: number }> {
  return createSignInLink(dependencies, user, {
    dashboardUrl,
    now: dependencies.clock.now(),
    audit: operatorAudit(dependencies, user, 'make_password_link'),
  })
}

/** Creates an account with a password for its administrator. */
export async function createAccountWithPassword(
  dependencies: AccountDependencies,
  name: string,
  email: string,
): Promise<CreatedAccount> {
  const account = await createAccount(dependencies.store, { name, email, clock: dependencies.clock })
  const password = await resetPassword(dependencies, {
    account: account.accountId,
    id: account.userId,
    email,
  })
  return { ...account, email, password }
}

/** The users with this email address, over all accounts. */
export async function findUsersByEmail(store: Store, email: string): Promise<UserRef[]> {
  const users: UserRef[] = []
  let cursor: string | undefined
  for (;;) {
    const accounts = await store.scan('accounts', { limit: 100, after: cursor })
    for (const { id: account } of accounts) {
      const holder = await store.holder(`user_email@${account}`, email.toLowerCase())
      const user = holder && (await store.get('users', account, holder.id))
      if (user !== undefined) users.push({ account, id: user.id, email: user.data.email })
    }
    if (accounts.length < 100) return users
    cursor = accounts.at(-1)!.id
  }
}
