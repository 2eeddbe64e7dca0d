/** One row of a side-by-side diff; a missing line is undefined. */
export interface DiffRow {
  left: string | undefined
  right: string | undefined
  same: boolean
}

/** Texts with more differences are shown as completely replaced. */
const MAX_EDITS = 400

/** A line diff of two texts, minimal up to the limit of edits. */
export function diffLines(left: readonly string[], right: readonly string[]): DiffRow[] {
  let start = 0
  while (start < left.length && start < right.length && left[start] === right[start]) start++
  let end = 0
  while (
    end < left.length - start &&
    end < right.length - start &&
    left[left.length - 1 - end] === right[right.length - 1 - end]
  )
    end++
  const rows = left.slice(0, start).map(sameRow)
  rows.push(...middleRows(left.slice(start, left.length - end), right.slice(start, right.length - end)))
  rows.push(...left.slice(left.length - end).map(sameRow))
  return rows
}

/** A diff of header fields by name, in the order of the left side; repeated fields are compared in order. */
export function diffFields(
  left: readonly (readonly [string, string])[],
  right: readonly (readonly [string, string])[],
): DiffRow[] {
  const names = new Set([...left, ...right].map(([name]) => name.toLowerCase()))
  const rows: DiffRow[] = []
  for (const name of names) {
    const formatFields = (fields: readonly (readonly [string, string])[]) =>
      fields.filter(([field]) => field.toLowerCase() === name).map(([field, value]) => `${field}: ${value}`)
    rows.push(...pairRows(formatFields(left), formatFields(right)))
  }
  return rows
}

const sameRow = (line: string): DiffRow => ({ left: line, right: line, same: true })

function middleRows(left: readonly string[], right: readonly string[]): DiffRow[] {
  const common = findCommonLines(left, right)
  const rows: DiffRow[] = []
  let [leftIndex, rightIndex] = [0, 0]
  for (const [l, r] of [...common, [left.length, right.length] as const]) {
    rows.push(...pairRows(left.slice(leftIndex, l), right.slice(rightIndex, r)))
    if (l < left.length) rows.push(sameRow(left[l]!))
    leftIndex = l + 1
    rightIndex = r + 1
  }
  return rows
}

function pairRows(left: readonly string[], right: readonly string[]): DiffRow[] {
  return Array.from({ length: Math.max(left.length, right.length) }, (_, index) => ({
    left: left[index],
    right: right[index],
    same: left[index] === right[index],
  }))
}

/** Positions of common lines (Myers, "An O(ND) Difference Algorithm"); none if there are too many edits. */
function findCommonLines(left: readonly string[], right: readonly string[]): (readonly [number, number])[] {
  const rounds: Map<number, number>[] = []
  let furthest = new Map([[1, 0]])
  for (let edits = 0; edits <= Math.min(MAX_EDITS, left.length + right.length); edits++) {
    const next = new Map<number, number>()
    rounds.push(furthest)
    for (let diagonal = -edits; diagonal <= edits; diagonal += 2) {
      const down = isDown(furthest, diagonal, edits)
      let x = down ? (furthest.get(diagonal + 1) ?? 0) : (furthest.get(diagonal - 1) ?? 0) + 1
      while (x < left.length && x - diagonal < right.length && left[x] === right[x - diagonal]) x++
      next.set(diagonal, x)
      if (x >= left.length && x - diagonal >= right.length) return walkBack(rounds, left.length, right.length)
    }
    furthest = next
  }
  return []
}

function isDown(furthest: ReadonlyMap<number, number>, diagonal: number, edits: number): boolean {
  if (diagonal === -edits) return true
  return diagonal !== edits && (furthest.get(diagonal - 1) ?? 0) < (furthest.get(diagonal + 1) ?? 0)
}

function walkBack(rounds: readonly ReadonlyMap<number, number>[], width: number, height: number) {
  const common: [number, number][] = []
  let [x, y] = [width, height]
  for (let edits = rounds.length - 1; edits >= 0; edits--) {
    const furthest = rounds[edits]!
    const diagonal = x - y
    const previousDiagonal = isDown(furthest, diagonal, edits) ? diagonal + 1 : diagonal - 1
    const previousX = edits === 0 ? 0 : (furthest.get(previousDiagonal) ?? 0)
    const previousY = edits === 0 ? 0 : previousX - previousDiagonal
    while (x > previousX && y > previousY) common.push([--x, --y])
    x = previousX
    y = previousY
  }
  return common.reverse()
}
