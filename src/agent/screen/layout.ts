/** A styled part of a row. */
export interface Span {
  text: string
  color?: 'green' | 'yellow' | 'red' | 'cyan' | 'gray' | 'magenta' | 'whiteBright'
  backgroundColor?: 'black'
  bold?: boolean
}

/** One row of the screen. */
export type ScreenRow = readonly Span[]

/** A row, and how soon it makes room on a small terminal: the highest rank first, rank 0 never. */
export interface RankedRow {
  readonly rank: number
  readonly row: ScreenRow
}

/** Removes rows of rank `minRank` and above until the rest fits, the highest rank first and the lowest row first. */
export function fitRows(rows: readonly RankedRow[], height: number, minRank: number): RankedRow[] {
  const remaining = [...rows]
  while (remaining.length > height) {
    const highest = Math.max(...remaining.map(({ rank }) => rank))
    if (highest < minRank) break
    remaining.splice(
      remaining.findLastIndex(({ rank }) => rank === highest),
      1,
    )
  }
  return remaining
}

/** Shortens a text that is too long, which an ellipsis shows. */
export function truncate(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`
}

/** Breaks a text into lines, between words where possible. */
export function wrapText(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width)
      lines[lines.length - 1] = `${last} ${word}`
    else lines.push(...breakWord(word, width))
  }
  return lines
}

/** Breaks a word that is longer than a line. */
export function breakWord(word: string, width: number): string[] {
  const lines: string[] = []
  for (let start = 0; start === 0 || start < word.length; start += width)
    lines.push(word.slice(start, start + width))
  return lines
}

/** Clients choose paths and servers choose banners: neither may send control sequences to the terminal. */
export function sanitize(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g, '?')
}
