import type { PagedFollower, RecordOfKind, RowChange } from '../store/index.ts'

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
export function createCredentialWatch(registry: CredentialHolders): PagedFollower<CredentialKind> {
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

  function apply(change: RowChange<CredentialKind>): void {
    const { id } = change
    if (change.kind === 'users' || change.kind === 'bot_users') onOwner(id, change.row?.data.active === true)
    else if (change.row === undefined) onCredentialDeleted(id)
    else onCredential(id, change.row.data)
  }

  return {
    load() {
      const stale = new Set(credentials.keys())
      return {
        put(changes) {
          for (const change of changes) {
            stale.delete(change.id)
            apply(change)
          }
        },
        complete() {
          for (const id of stale) onCredentialDeleted(id)
        },
      }
    },
    change(changes) {
      for (const change of changes) apply(change)
    },
  }
}
