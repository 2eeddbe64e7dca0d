import { Fragment } from 'react'

/** A text that may break after `@` and `.`, as email addresses and host names should, and nowhere else. */
export function BreakableText({ text }: { text: string }) {
  const [first = '', ...rest] = text.split(/(?<=[@.])/)
  return (
    <bdi className="breakable">
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
