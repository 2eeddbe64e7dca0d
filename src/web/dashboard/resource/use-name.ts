import { useEffect, useState } from 'react'
import { namesBy } from '../form/references.ts'
import { useSession } from '../session.ts'

const KEPT_MS = 15_000
const ADMINS_ONLY = new Set(['usr', 'bot'])

const kept = new Map<string, { at: number; names: Promise<ReadonlyMap<string, string>> }>()

function namesOf(prefix: string): Promise<ReadonlyMap<string, string>> {
  const known = kept.get(prefix)
  if (known && Date.now() - known.at < KEPT_MS) return known.names
  const names = namesBy(prefix)
  kept.set(prefix, { at: Date.now(), names })
  return names
}

/** The words by which people know what an id names, and whether they may read it. One list is read for all of a kind. */
export function useName(id: string): { name: string | undefined; readable: boolean } {
  const { user } = useSession().session
  const own = user?.id === id ? user.email : undefined
  const prefix = id.slice(0, id.indexOf('_'))
  // Asking for a list that may not be read would only be refused.
  const readable = user === null || user.role === 'admin' || !ADMINS_ONLY.has(prefix)
  const [name, setName] = useState<string>()
  useEffect(() => {
    if (!readable) return
    let gone = false
    void namesOf(prefix).then((names) => {
      if (!gone) setName(names.get(id))
    })
    return () => {
      gone = true
    }
  }, [id, prefix, readable])
  return { name: own ?? name, readable }
}
