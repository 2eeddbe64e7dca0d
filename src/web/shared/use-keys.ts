import { useEffect, useRef } from 'react'

/** Keys, separated by spaces, and what they do. */
export type KeyBinding = readonly [keys: string, action: () => unknown]

/** Single-key shortcuts for the whole page, except in inputs and on controls that handle the key. */
export function useKeys(actions: readonly KeyBinding[]): void {
  const actionsRef = useRef(actions)
  useEffect(() => {
    actionsRef.current = actions
  })
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return
      if (document.querySelector('dialog[open]')) return
      const target = event.target as HTMLElement
      if (target.closest('input, textarea, select')) {
        // Enter and Escape leave the search field; in a form, Enter submits.
        const sends = event.key === 'Enter' && target.closest('form') !== null
        if ((event.key === 'Escape' || event.key === 'Enter') && !sends) target.blur()
        return
      }
      const moves = event.key.length > 1
      if (moves && event.key !== 'Escape' && target.closest('button, a, [role=tab], pre, .scrolls')) return
      const action = actionsRef.current.find(([keys]) => keys.split(' ').includes(event.key))?.[1]
      if (!action) return
      event.preventDefault()
      action()
    }
    addEventListener('keydown', onKeyDown)
    return () => removeEventListener('keydown', onKeyDown)
  }, [])
}
