import { createContext, useContext } from 'react'
import type { Session } from './api.ts'
import { canChange, useOpenApi } from './openapi.ts'

/** The session of the page and what can be done to it. */
export interface SessionState {
  readonly session: Session
  /** Reads the session again, after something about it changed. */
  refresh(): Promise<void>
  signOut(): Promise<void>
}

export const SessionContext = createContext<SessionState | undefined>(undefined)

/** The session; pages are shown only while there is one. */
export function useSession(): SessionState {
  const state = useContext(SessionContext)
  if (!state) throw new Error('There is no session around this component.')
  return state
}

/** Whether the one signed in may change things at all; the server has the last word. */
export function useCanChange(): boolean {
  return useSession().session.user?.role !== 'read_only'
}

/** The same for what `path` of the API lists, and for one of them. */
export function useCanChangeAt(path: string, item?: Readonly<Record<string, unknown>>): boolean {
  const { user } = useSession().session
  const { document } = useOpenApi()
  const canChangeAny = useCanChange()
  // Whoever signed in with an API key has the role of its owner, which the page does not know.
  if (user === null || document === undefined) return canChangeAny
  const ownedByOther = typeof item?.owner_id === 'string' && item.owner_id !== user.id
  return canChange(document, path, user.role, ownedByOther)
}
