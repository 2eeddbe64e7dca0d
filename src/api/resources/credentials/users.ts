import { BotUser, ServiceUser, User } from '../../../resources/index.ts'
import type { Row, Transaction } from '../../../store/index.ts'
import type { ApiCall } from '../../call.ts'
import { crud, type ResourceHooks } from '../../crud/crud.ts'
import { problem } from '../../problems.ts'

/** Rejects a change that would leave the account without an active administrator. */
async function requireOtherAdmin(
  id: string,
  { tx, principal }: ApiCall & { tx: Transaction },
): Promise<void> {
  let cursor: string | undefined
  for (;;) {
    const users: Row<'users'>[] = await tx.list('users', principal.accountId, { limit: 100, before: cursor })
    if (users.some((user) => user.id !== id && user.data.role === 'admin' && user.data.active === true))
      return
    if (users.length < 100) throw problem('conflict', 'The account needs at least one active administrator.')
    cursor = users.at(-1)?.id
  }
}

/** Invalidates cached state of a changed or deleted user. */
function invalidateUser(id: string, { dependencies, principal, log }: ApiCall): void {
  dependencies.auth.forget(id)
  dependencies.browserAuth
    ?.revalidate(principal.accountId, id)
    .catch((error) => log.warn({ err: error, user: id }, 'user sessions not revalidated'))
}

export const users = crud(User, {
  async commit(record, context) {
    const losesAdmin = context.existing !== undefined && (record.role !== 'admin' || !record.active)
    if (losesAdmin) await requireOtherAdmin(context.id, context)
    return record
  },
  beforeRemove: (row, call) => requireOtherAdmin(row.id, call),
  afterChange: invalidateUser,
})

export const botUsers = crud(BotUser, { afterChange: invalidateUser })

/** Bot users at their second path. */
export const serviceUsers: ResourceHooks = { ...botUsers, resource: ServiceUser }
