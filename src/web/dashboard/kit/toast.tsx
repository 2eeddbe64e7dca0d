import { useSyncExternalStore } from 'react'

const TOAST_DURATION_MS = 4000

let message = ''
let timer: ReturnType<typeof setTimeout> | undefined
const listeners = new Set<() => void>()

function setMessage(text: string): void {
  message = text
  for (const listener of listeners) listener()
}

/** Shows a toast message for a few seconds. */
export function notify(text: string): void {
  clearTimeout(timer)
  setMessage(text)
  timer = setTimeout(() => setMessage(''), TOAST_DURATION_MS)
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The toast region; the shell renders one. */
export function Toast() {
  const text = useSyncExternalStore(subscribe, () => message)
  return (
    <div className="said" role="status">
      {text && <p>{text}</p>}
    </div>
  )
}
