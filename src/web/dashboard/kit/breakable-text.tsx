import { Fragment } from 'react'

/** A part without a place to break that is longer than this would widen its column without bound. */
const MAX_UNBROKEN = 32

/** A text that may break after `@`, `.` and `/`, as email addresses, host names and URLs should, and elsewhere only if it is too long. */
export function BreakableText({ text }: { text: string }) {
  const [first = '', ...rest] = text.split(/(?<=[@.]|[/](?![/]))/)
  return (
    <bdi className={isTooLong(text) ? 'breakable anywhere' : 'breakable'}>
      {first}
      {rest.map((part, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the parts of one text never move.
        <Fragment key={index}>
          <wbr />
          {part}
        </Fragment>
      ))}
    </bdi>
  )
}

function isTooLong(text: string): boolean {
  return text.split(/[\s@./]/).some((part) => part.length > MAX_UNBROKEN)
}
