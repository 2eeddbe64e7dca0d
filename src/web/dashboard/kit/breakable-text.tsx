import { Fragment } from 'react'

/** A part without a place to break that is longer than this would widen its column without bound. */
const MAX_UNBROKEN = 32
const MAX_WHOLE = 17

/** A text that may break after `@`, `.`, `/` and between words joined by `_`, as email addresses, host names and URLs should, and elsewhere only if it is too long. */
export function BreakableText({ text }: { text: string }) {
  const [first = '', ...rest] = text.split(/(?<=\s)/).flatMap(partsOf)
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

/** Short words stay whole, such as a host name inside a sentence. */
function partsOf(word: string): string[] {
  return word.length > MAX_WHOLE ? word.split(/(?<=[@.]|[a-z]_(?=[a-z])|[/](?![/]))/) : [word]
}

function isTooLong(text: string): boolean {
  return text.split(/[\s@./_]/).some((part) => part.length > MAX_UNBROKEN)
}
