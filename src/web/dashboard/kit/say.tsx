import { useSyncExternalStore } from 'react'

const SHOWN_MS = 4000

let said = ''
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

function set(text: string): void {
  said = text
  for (const listener of listeners) listener()
}

/** Says in passing that something was done. */
export function say(text: string): void {
  clearTimeout(timer)
  set(text)
  timer = setTimeout(() => set(''), SHOWN_MS)
}

function follow(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Where it is said; the shell has one. */
export function Said() {
  const text = useSyncExternalStore(follow, () => said)
  return (
    <div className="said" role="status">
      {text && <p>{text}</p>}
    </div>
  )
}
