import type { ChargeSteps, LinearRegex } from '../../base/linear-pattern.ts'

/** Replaces every match in a text; `$1` and `${name}` stand for groups, `$$` for a dollar sign. Throws `SearchTooLong`. */
export function replaceAll(
  text: string,
  regex: Pick<LinearRegex, 'exec' | 'groupNames'>,
  replacement: string,
  charge?: ChargeSteps,
): { text: string; matches: string[] } {
  const matches: string[] = []
  let result = ''
  let position = 0
  for (let from = 0; from <= text.length; ) {
    const match = regex.exec(text, from, charge)
    if (match === undefined) break
    matches.push(match.groups[0]!)
    result += text.slice(position, match.start) + expand(replacement, match.groups, regex.groupNames)
    position = match.end
    from = match.end > match.start ? match.end : match.end + 1
  }
  return { text: result + text.slice(position), matches }
}

const REFERENCE = /\$(?:\$|(\d{1,2})|(\w+)|\{(\w+)\})/g

function expand(
  replacement: string,
  groups: readonly (string | undefined)[],
  names: ReadonlyMap<string, number>,
): string {
  if (!replacement.includes('$')) return replacement
  return replacement.replace(REFERENCE, (reference, digits, word, braced) => {
    if (reference === '$$') return '$'
    const name = digits ?? word ?? braced
    const index = /^\d+$/.test(name) ? Number(name) : names.get(name)
    return index === undefined ? '' : (groups[index] ?? '')
  })
}
