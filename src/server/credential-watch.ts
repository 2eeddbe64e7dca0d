import type { Registry } from '../sessions/index.ts'
import type { Follower, Row } from '../store/index.ts'

/** Kinds of rows that decide whether a session may go on. */
export const CREDENTIAL_KINDS = ['credentials', 'ssh_credentials', 'users', 'bot_users'] as const

/**
 * Tells the registry what happens to credentials: a deleted one ends its sessions, changed rules take tunnels offline
 * that they no longer allow, and an owner switched off takes its credentials along.
 */
export function createCredentialWatch(registry: Pick<Registry, 'changeAcl' | 'endCredential'>): Follower {
  const credentials = new Map<string, { owner: string; acl: string }>()
  const inactive = new Set<string>()

  function seen(id: string, row: Row): void {
    const { owner_id, acl } = row.data as { owner_id: string; acl: string[] }
    const before = credentials.get(id)
    const text = JSON.stringify(acl)
    credentials.set(id, { owner: owner_id, acl: text })
    if (before !== undefined && before.acl !== text) registry.changeAcl(id, acl)
  }

  function gone(id: string): void {
    if (credentials.delete(id)) registry.endCredential(id, 'The credential of this session was deleted.')
  }

  function ownerSeen(id: string, active: boolean): void {
    const was = !inactive.has(id)
    if (active) inactive.delete(id)
    else inactive.add(id)
    if (was && !active)
      for (const [credential, { owner }] of credentials)
        if (owner === id) registry.endCredential(credential, 'The owner of this credential was switched off.')
  }

  function apply(kind: string, id: string, row: Row | undefined): void {
    if (kind === 'users' || kind === 'bot_users') ownerSeen(id, row?.data.active === true)
    else if (row === undefined) gone(id)
    else seen(id, row)
  }

  return {
    reset(rows) {
      const now = new Set(rows.map(({ id }) => id))
      for (const id of [...credentials.keys()]) if (!now.has(id)) gone(id)
      for (const row of rows) apply(row.kind, row.id, row)
    },
    change(changes) {
      for (const { kind, id, row } of changes) apply(kind, id, row)
    },
  }
}
