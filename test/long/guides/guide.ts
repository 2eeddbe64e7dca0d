/** One step of a guide, in the order of the page. */
export type Step =
  | { readonly kind: 'run' | 'hidden'; readonly line: number; readonly code: string }
  /** Runs on in a terminal of its own; the guide goes on when its output contains `until`. */
  | { readonly kind: 'background'; readonly line: number; readonly code: string; readonly until: string }
  | { readonly kind: 'file'; readonly line: number; readonly code: string; readonly path: string }
  /** What the step before printed, line by line; `…` stands for anything. */
  | { readonly kind: 'output'; readonly line: number; readonly code: string }
  | { readonly kind: 'skip'; readonly line: number; readonly code: string; readonly reason: string }

const FENCE = /^```(\w*)(?: \[([^\]]+)\])?$/
const DIRECTIVE = /^<!-- (background|skip): (.+) -->$/

/**
 * Reads the steps of a guide. `sh` blocks are run and `text` blocks are what they print; a block with a name in brackets is a
 * file. A comment above a block says what else there is to know: `<!-- background: TEXT -->` for a command that runs on,
 * `<!-- skip: REASON -->` for one that cannot run in a test, and `<!-- hidden` with commands that only the test needs.
 */
export function readSteps(markdown: string): Step[] {
  const lines = markdown.split('\n')
  const steps: Step[] = []
  let directive: RegExpMatchArray | null = null

  /** The lines after `start` up to a line that is `end`. */
  function readBlock(start: number, end: string): { code: string; next: number } {
    const last = lines.indexOf(end, start + 1)
    if (last === -1) throw new Error(`line ${start + 1}: the block has no end`)
    return { code: lines.slice(start + 1, last).join('\n'), next: last + 1 }
  }

  for (let index = 0; index < lines.length; ) {
    const text = lines[index]!
    const line = index + 1
    const fence = text.match(FENCE)
    if (text === '<!-- hidden') {
      const { code, next } = readBlock(index, '-->')
      steps.push({ kind: 'hidden', line, code })
      index = next
    } else if (fence === null) {
      directive = text.match(DIRECTIVE) ?? (text === '' ? directive : null)
      index++
    } else {
      const { code, next } = readBlock(index, '```')
      const [, language, path] = fence
      const [, word, argument = ''] = directive ?? []
      if (word === 'skip') steps.push({ kind: 'skip', line, code, reason: argument })
      else if (word === 'background') steps.push({ kind: 'background', line, code, until: argument })
      else if (path !== undefined) steps.push({ kind: 'file', line, code, path })
      else if (language === 'sh') steps.push({ kind: 'run', line, code })
      else if (language === 'text') steps.push({ kind: 'output', line, code })
      directive = null
      index = next
    }
  }
  return steps
}

/** The lines of a sample that the output lacks, in order; `…` stands for anything. */
export function missingLines(sample: string, output: string): string[] {
  let rest = output
  return sample.split('\n').filter((line) => {
    if (line.trim() === '' || line.trim() === '…') return false
    const pattern = line.trim().split('…').map(RegExp.escape).join('.*')
    const match = rest.match(pattern)
    if (match === null) return true
    rest = rest.slice(match.index! + match[0].length)
    return false
  })
}
