import type { ReactNode } from 'react'

/** A scrollable region that can be focused with the keyboard; it therefore needs a label. */
export function ScrollRegion({ label, children }: { label: string; children: ReactNode }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: without it the keyboard cannot scroll here.
    <section className="scrolls" aria-label={label} tabIndex={0}>
      {children}
    </section>
  )
}
