import type { Follower, RecordOfKind, Row } from '../store/index.ts'

/** What a change of a credential applies to: the registry of sessions. */
export interface CredentialHolders {
  updateAcl(credentialId: string, rules: readonly string[]): void
  revokeCredential(credentialId: string, reason: string): void
}

/** Kinds of rows that decide whether a session may continue. */
export const CREDENTIAL_KINDS = ['credentials', 'ssh_credentials', 'users', 'bot_users'] as const

type CredentialKind = (typeof CREDENTIAL_KINDS)[number]
type Credential = RecordOfKind<'credentials' | 'ssh_credentials'>

/**
 * Applies credential changes to the registry: deleting a credential ends its sessions, changed rules stop the tunnels
 * they no longer allow, and deactivating an owner ends the sessions of its credentials.
 */
export function createCredentialWatch(registry: CredentialHolders): Follower<CredentialKind> {
  const credentials = new Map<string, { owner: string; acl: string }>()
  const inactive = new Set<string>()

  function onCredential(id: string, { owner_id, acl }: Credential): void {
    const previous = credentials.get(id)
    const text = JSON.stringify(acl)
    credentials.set(id, { owner: owner_id, acl: text })
    if (previous !== undefined && previous.acl !== text) registry.updateAcl(id, acl)
  }

  function onCredentialDeleted(id: string): void {
    if (credentials.delete(id)) registry.revokeCredential(id, 'The credential of this session was deleted.')
  }

  function onOwner(id: string, active: boolean): void {
    const wasActive = !inactive.has(id)
    if (active) inactive.delete(id)
    else inactive.add(id)
    if (wasActive && !active)
      for (const [credential, { owner }] of credentials)
        if (owner === id)
          registry.revokeCredential(credential, 'The owner of this credential was switched off.')
  }

  function put({ kind, id, data }: Row<CredentialKind>): void {
    if (kind === 'users' || kind === 'bot_users') onOwner(id, data.active === true)
    else onCredential(id, data)
  }

  function remove(kind: CredentialKind, id: string): void {
    if (kind === 'users' || kind === 'bot_users') onOwner(id, false)
    else onCredentialDeleted(id)
  }

  return {
    reset(rows) {
      const currentIds = new Set(rows.map(({ id }) => id))
      for (const id of [...credentials.keys()]) if (!currentIds.has(id)) onCredentialDeleted(id)
      for (const row of rows) put(row)
    },
    change(changes) {
      for (const { kind, id, row } of changes) {
        if (row === undefined) remove(kind, id)
        else put(row)
      }
    },
  }
}
