import type { ReactNode } from 'react'

/** What scrolls by itself must be reachable by keyboard, and then has to have a name. */
export function ScrollRegion({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard cannot scroll here.
    <section className="scrolls" aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
