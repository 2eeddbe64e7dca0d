import { useSyncExternalStore } from 'react'

const TOAST_DURATION_MS = 4000

let message = ''
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

function setMessage(text: string): void {
  message = text
  for (const listener of listeners) listener()
}

/** Says in passing that something was done. */
export function notify(text: string): void {
  clearTimeout(timer)
  setMessage(text)
  timer = setTimeout(() => setMessage(''), TOAST_DURATION_MS)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Where it is said; the shell has one. */
export function Toast() {
  const text = useSyncExternalStore(subscribe, () => message)
  return (
    <div className="said" role="status">
      {text && <p>{text}</p>}
    </div>
  )
}
