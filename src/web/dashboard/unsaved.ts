import { useSyncExternalStore } from 'react'

/** The forms with unsaved changes. */
const forms = new Set<HTMLFormElement>()
const listeners = new Set<() => void>()
/** The location that is shown, and the one that waits for an answer. */
let shown = location.hash
let pending: string | undefined

const askBrowser = (event: BeforeUnloadEvent) => event.preventDefault()

function setPending(hash: string | undefined): void {
  pending = hash
  for (const listener of listeners) listener()
}

/** Something was typed into a form. */
export function keepUnsaved(form: HTMLFormElement): void {
  forms.add(form)
  addEventListener('beforeunload', askBrowser)
}

/** What was typed into a form is saved, or is not wanted. */
export function forgetUnsaved(form: HTMLFormElement): void {
  forms.delete(form)
  if (forms.size === 0) removeEventListener('beforeunload', askBrowser)
}

/** Whether something within an element is typed and not saved. */
export function hasUnsaved(within: Node): boolean {
  return [...forms].some((form) => within.contains(form))
}

/** Whether a page can be left for another one at once; otherwise that one waits for an answer. */
export function mayLeaveFor(hash: string): boolean {
  if (hash === location.hash || !hasUnsaved(document)) return true
  setPending(hash)
  return false
}

addEventListener(
  'click',
  (event) => {
    const { ctrlKey, metaKey, shiftKey, target } = event
    if (ctrlKey || metaKey || shiftKey || !(target instanceof Element)) return
    const link = target.closest<HTMLAnchorElement>('a[href^="#"]:not([target])')
    if (link && !mayLeaveFor(link.hash)) event.preventDefault()
  },
  { capture: true },
)

// The buttons of the browser have left already. It comes before the listeners of the pages, which find the location unchanged.
addEventListener('hashchange', () => {
  if (location.hash === shown) return
  if (hasUnsaved(document)) {
    const target = location.hash
    history.replaceState(null, '', shown || '#')
    setPending(target)
  } else shown = location.hash
})

/** The page that waits for an answer whether what was typed may be lost; undefined if none does. */
export function usePendingPage(): { discard(): void; stay(): void } | undefined {
  const target = useSyncExternalStore(
    (onChange) => {
      listeners.add(onChange)
      return () => listeners.delete(onChange)
    },
    () => pending,
  )
  if (target === undefined) return undefined
  return {
    stay: () => setPending(undefined),
    discard() {
      for (const form of [...forms]) forgetUnsaved(form)
      setPending(undefined)
      location.hash = target
    },
  }
}
