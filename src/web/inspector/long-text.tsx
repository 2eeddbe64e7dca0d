import { useState } from 'react'
import { ScrollRegion } from '../shared/scroll-region.tsx'
import type { Token } from './pretty.ts'

/** Laying out more than this at once makes the page stop for a moment. */
const AT_ONCE = 100_000

/** Text of any length, its beginning first. */
export function LongText({ text, label }: { text: string; label: string }) {
  const [all, setAll] = useState(false)
  const shown = all || text.length <= AT_ONCE
  return (
    <>
      <ScrollRegion label={label}>
        <pre>{shown ? text : text.slice(0, AT_ONCE)}</pre>
      </ScrollRegion>
      {!shown && <More length={text.length} onMore={() => setAll(true)} />}
    </>
  )
}

/** Highlighted text; long ones lose their colours rather than the reader's time. */
export function TokenText({ tokens, label }: { tokens: readonly Token[]; label: string }) {
  if (tokens.length > 6000) return <LongText text={tokens.map(({ text }) => text).join('')} label={label} />
  return (
    <ScrollRegion label={label}>
      <pre>
        {tokens.map(({ kind, text }, index) =>
          kind === 'plain' ? (
            text
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: tokens never change places.
            <span className={`t-${kind}`} key={index}>
              {text}
            </span>
          ),
        )}
      </pre>
    </ScrollRegion>
  )
}

function More({ length, onMore }: { length: number; onMore(): void }) {
  return (
    <p className="note">
      The first {AT_ONCE.toLocaleString('en')} of {length.toLocaleString('en')} characters are shown.{' '}
      <button type="button" onClick={onMore}>
        Show all
      </button>
    </p>
  )
}
