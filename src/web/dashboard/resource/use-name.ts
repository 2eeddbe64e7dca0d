import { useEffect, useState } from 'react'
import { namesByPrefix } from '../form/references.ts'
import { useSession } from '../session.ts'

const CACHE_TTL_MS = 15_000
const ADMINS_ONLY = new Set(['usr', 'bot'])

const cache = new Map<string, { fetchedAt: number; names: Promise<ReadonlyMap<string, string>> }>()

function namesOf(prefix: string): Promise<ReadonlyMap<string, string>> {
  const cached = cache.get(prefix)
  if (cached && Date.now() - cached.fetchedAt < CACHE_TTL_MS) return cached.names
  const names = namesByPrefix(prefix)
  cache.set(prefix, { fetchedAt: Date.now(), names })
  return names
}

/** The display name of an id, and whether the user may read it. One list is read per resource kind. */
export function useName(id: string): { name: string | undefined; readable: boolean } {
  const { user, role } = useSession().session
  const ownEmail = user?.id === id ? user.email : undefined
  const prefix = id.slice(0, id.indexOf('_'))
  // The API would reject the request for this list.
  const readable = role === 'admin' || !ADMINS_ONLY.has(prefix)
  const [name, setName] = useState<string>()
  useEffect(() => {
    if (!readable) return
    let cancelled = false
    void namesOf(prefix).then((names) => {
      if (!cancelled) setName(names.get(id))
    })
    return () => {
      cancelled = true
    }
  }, [id, prefix, readable])
  return { name: ownEmail ?? name, readable }
}
