import type { ChargeSteps, LinearRegex } from '../../base/pattern/linear-pattern.ts'

/** Replaces what a pattern matches; `$1` and `${name}` stand for groups, `$$` for a dollar sign. */
export interface Replacement {
  readonly regex: Pick<LinearRegex, 'exec' | 'groupNames'>
  readonly to: string
}

/** Replaces every match in a text. All searches and the text that takes the place of matches are charged. */
export function replaceAll(
  text: string,
  { regex, to }: Replacement,
  charge: ChargeSteps,
): { text: string; matches: string[] } {
  const parts = parseReplacement(to, regex.groupNames)
  const matches: string[] = []
  let result = ''
  let position = 0
  for (let from = 0; from <= text.length; ) {
    const match = regex.exec(text, from, charge)
    if (match === undefined) break
    const { start, end, groups } = match
    matches.push(groups[0]!)
    result += text.slice(position, start) + expand(parts, groups, charge)
    position = end
    from = end > start ? end : end + 1
  }
  return { text: result + text.slice(position), matches }
}

/** A literal part of a replacement, or the number of the group that takes its place. */
type Part = string | number

const PARTS = /\$(?:\$|(\d{1,2})|(\w+)|\{(\w+)\})|[^$]+|\$/g

function parseReplacement(to: string, names: ReadonlyMap<string, number>): Part[] {
  return Array.from(to.matchAll(PARTS), ([part, digits, word, braced]) => {
    if (part === '$$') return '$'
    const name = digits ?? word ?? braced
    if (name === undefined) return part
    return /^\d+$/.test(name) ? Number(name) : (names.get(name) ?? '')
  })
}

function expand(
  parts: readonly Part[],
  groups: readonly (string | undefined)[],
  charge: ChargeSteps,
): string {
  let length = 0
  const texts = parts.map((part) => {
    const text = typeof part === 'string' ? part : (groups[part] ?? '')
    length += text.length
    return text
  })
  // Before they are joined: a group may stand in a replacement a thousand times.
  charge(parts.length + length)
  return texts.join('')
}
