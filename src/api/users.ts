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

export const users = crud(User, {
  async commit(record, committing) {
    const losesPower = committing.before !== undefined && (record.role !== 'admin' || !record.active)
    if (losesPower) await keepAnAdministrator(committing.id, committing)
    return record
  },
  remove: (row, call) => keepAnAdministrator(row.id, call),
  settled: (id, { parts }) => parts.auth.forget(id),
})

export const botUsers = crud(BotUser, { settled: (id, { parts }) => parts.auth.forget(id) })
