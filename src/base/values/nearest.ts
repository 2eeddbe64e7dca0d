/**
 * The candidate the user most likely meant: a typo of a few letters, a part of the name (`token` for `authtoken`), or
 * at least a word or all its letters in common. Undefined when nothing is close enough to be helpful.
 */
export function findNearest(word: string, candidates: Iterable<string>): string | undefined {
  const lowered = word.toLowerCase()
  const names = [...candidates]
  return (
    closest(lowered, names, Math.max(1, Math.floor(lowered.length / 3))) ??
    shortest(names.filter((name) => contains(lowered, name) || contains(name, lowered))) ??
    closest(lowered, names, Math.floor(lowered.length / 2)) ??
    shortest(names.filter((name) => abbreviates(lowered, name.toLowerCase()))) ??
    closest(
      lowered,
      names.filter((name) => sharesWord(lowered, name)),
      100,
    )
  )
}

/** The candidate with the fewest edits, at most `maxDistance`. */
function closest(word: string, candidates: readonly string[], maxDistance: number): string | undefined {
  let best: string | undefined
  let limit = maxDistance + 1
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate.toLowerCase(), limit)
    if (distance < limit) {
      best = candidate
      limit = distance
    }
  }
  return best
}

function shortest(names: readonly string[]): string | undefined {
  return names.toSorted((a, b) => a.length - b.length)[0]
}

/** At least three letters: two occur in almost every name. */
function contains(part: string, text: string): boolean {
  return part.length >= 3 && text.toLowerCase().includes(part.toLowerCase())
}

/** True for `nm` and `name`: the same first letter, and the others in order. */
function abbreviates(short: string, long: string): boolean {
  let matched = 0
  for (const letter of long) if (letter === short[matched]) matched++
  return short.length >= 2 && short[0] === long[0] && matched === short.length
}

function sharesWord(a: string, b: string): boolean {
  const words = new Set(b.toLowerCase().split(/[_.-]/))
  return a.split(/[_.-]/).some((word) => word.length >= 3 && words.has(word))
}

/** Edit distance (insert, delete, replace, swap neighbours), capped at `limit`. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit || a.length > 100) return limit
  let rowBeforeLast: number[] = []
  let lastRow = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = lastRow[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let cost = Math.min(replace, lastRow[j]! + 1, row[j - 1]! + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, rowBeforeLast[j - 2]! + 1)
      }
      row.push(cost)
    }
    rowBeforeLast = lastRow
    lastRow = row
  }
  return Math.min(lastRow[b.length]!, limit)
}
