import { useState } from 'react'
import { ScrollRegion } from '../../shared/scroll-region.tsx'
import type { SyntaxToken } from './pretty.ts'

/** Rendering more at once blocks the page. */
const MAX_VISIBLE_CHARS = 100_000
const MAX_HIGHLIGHTED_TOKENS = 6000

/** Text of any length; only its beginning at first. */
export function LongText({ text, label }: { text: string; label: string }) {
  const [all, setAll] = useState(false)
  const complete = all || text.length <= MAX_VISIBLE_CHARS
  return (
    <>
      <ScrollRegion label={label}>
        <pre>{complete ? text : text.slice(0, MAX_VISIBLE_CHARS)}</pre>
      </ScrollRegion>
      {!complete && <More length={text.length} onMore={() => setAll(true)} />}
    </>
  )
}

/** Highlighted text; long texts are shown without highlighting. */
export function TokenText({ tokens, label }: { tokens: readonly SyntaxToken[]; label: string }) {
  if (tokens.length > MAX_HIGHLIGHTED_TOKENS)
    return <LongText text={tokens.map(({ text }) => text).join('')} label={label} />
  return (
    <ScrollRegion label={label}>
      <pre>
        {tokens.map(({ kind, text }, index) =>
          kind === 'plain' ? (
            text
          ) : (
            // biome-ignore lint/suspicious/noArrayIndexKey: tokens are never reordered.
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
      The first {MAX_VISIBLE_CHARS.toLocaleString('en')} of {length.toLocaleString('en')} characters are
      shown.{' '}
      <button type="button" onClick={onMore}>
        Show all
      </button>
    </p>
  )
}
