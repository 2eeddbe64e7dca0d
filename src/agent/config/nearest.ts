/**
 * The candidate a person most likely meant: a slip of a few letters, a part of the name (`token` for `authtoken`), or
 * at least a word or all its letters in common. Undefined when nothing is close enough to be helpful.
 */
export function nearest(word: string, candidates: Iterable<string>): string | undefined {
  const given = word.toLowerCase()
  const names = [...candidates]
  return (
    closest(given, names, Math.max(1, Math.floor(given.length / 3))) ??
    shortest(names.filter((name) => contains(given, name) || contains(name, given))) ??
    closest(given, names, Math.floor(given.length / 2)) ??
    shortest(names.filter((name) => abbreviates(given, name.toLowerCase()))) ??
    closest(
      given,
      names.filter((name) => shareWord(given, name)),
      100,
    )
  )
}

/** The one with the fewest edits, at most `most`. */
function closest(word: string, candidates: readonly string[], most: number): string | undefined {
  let best: string | undefined
  let limit = most + 1
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

/** Two letters are part of almost everything. */
function contains(part: string, whole: string): boolean {
  return part.length >= 3 && whole.toLowerCase().includes(part.toLowerCase())
}

/** True for `nm` and `name`: the same first letter, and the others in the same order. */
function abbreviates(short: string, long: string): boolean {
  let at = 0
  for (const letter of long) if (letter === short[at]) at++
  return short.length >= 2 && short[0] === long[0] && at === short.length
}

function shareWord(a: string, b: string): boolean {
  const words = new Set(b.toLowerCase().split(/[_.-]/))
  return a.split(/[_.-]/).some((word) => word.length >= 3 && words.has(word))
}

/** Edits (insert, delete, replace, swap neighbours) between two words, or `limit` when there are at least that many. */
function editDistance(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) >= limit || a.length > 100) return limit
  let before: number[] = []
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      let cost = Math.min(replace, above[j]! + 1, row[j - 1]! + 1)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        cost = Math.min(cost, before[j - 2]! + 1)
      }
      row.push(cost)
    }
    before = above
    above = row
  }
  return Math.min(above[b.length]!, limit)
}
