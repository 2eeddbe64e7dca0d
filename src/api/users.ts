import { BotUser, User } from '../resources/index.ts'
import type { Row, Transaction } from '../store/index.ts'
import type { Call } from './call.ts'
import { crud } from './crud.ts'
import { problem } from './problems.ts'

/** An account without an administrator could never be changed again. */
async function keepAnAdministrator(id: string, { tx, principal }: Call & { tx: Transaction }): Promise<void> {
  let before: string | undefined
  for (;;) {
    const users: Row[] = await tx.list('users', principal.accountId, { limit: 100, before })
    if (users.some((user) => user.id !== id && user.data.role === 'admin' && user.data.active === true))
      return
    if (users.length < 100) throw problem('conflict', 'The account needs at least one active administrator.')
    before = users.at(-1)?.id
  }
}

/** What is known elsewhere of a user that was changed or deleted here no longer holds. */
function settled(id: string, { parts, principal, log }: Call): void {
  parts.auth.forget(id)
  parts.signedIn
    ?.review(principal.accountId, id)
    .catch((error) => log.warn({ err: error, user: id }, 'the sessions of a user could not be ended'))
}

export const users = crud(User, {
  async commit(record, committing) {
    const losesPower = committing.before !== undefined && (record.role !== 'admin' || !record.active)
    if (losesPower) await keepAnAdministrator(committing.id, committing)
    return record
  },
  remove: (row, call) => keepAnAdministrator(row.id, call),
  settled,
})

export const botUsers = crud(BotUser, { settled })
