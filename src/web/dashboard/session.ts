import { createContext, useContext } from 'react'
import type { SessionView } from './api.ts'
import { canChange, useOpenApi } from './openapi.ts'

/** The current session and its operations. */
export interface SessionState {
  readonly session: SessionView
  /** Reloads the session after it has changed. */
  refresh(): Promise<void>
  signOut(): Promise<void>
}

export const SessionContext = createContext<SessionState | undefined>(undefined)

/** The current session; pages render only while there is one. */
export function useSession(): SessionState {
  const state = useContext(SessionContext)
  if (!state) throw new Error('useSession needs a SessionContext.')
  return state
}

/** Whether the user may change anything; the server enforces it. */
export function useCanChange(): boolean {
  return useSession().session.role !== 'read_only'
}

/** Whether the user may change the resources that `path` of the API lists, or one of them; an empty path lists none. */
export function useCanChangeAt(path: string, item?: Readonly<Record<string, unknown>>): boolean {
  const { user, role } = useSession().session
  const { document } = useOpenApi(role !== 'admin' && path !== '')
  if (role === 'admin') return true
  // Buttons appear once the document says who may use them.
  if (document === undefined) return false
  const ownedByOther = typeof item?.owner_id === 'string' && item.owner_id !== user?.id
  return canChange(document, path, role, ownedByOther)
}
