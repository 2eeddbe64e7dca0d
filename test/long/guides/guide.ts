/** The machines of a guide: that of the server, and the one that a reader works on. */
export type Machine = 'server' | 'laptop'

/** One step of a guide, in the order of the page. */
export type Step = {
  readonly line: number
  readonly code: string
  readonly machine: Machine
  /** What a reader replaces in the code, each word by a field of the JSON document that an earlier step printed. */
  readonly copied: Readonly<Record<string, string>>
} & (
  | { readonly kind: 'run'; readonly directory: string | undefined }
  /** Commands of the test, which cannot change what the reader works with. */
  | { readonly kind: 'hidden' }
  /** Runs on in a terminal of its own; the guide goes on when its output contains `until`. */
  | { readonly kind: 'background'; readonly until: string; readonly directory: string | undefined }
  | { readonly kind: 'file'; readonly path: string }
  /** What the step before printed, line by line; `…` stands for anything. */
  | { readonly kind: 'output' }
  | { readonly kind: 'skip'; readonly reason: string }
)

const FENCE = /^```(\w*)(?: \[([^\]]+)\])?$/
const HIDDEN = /^<!-- hidden(?: on (server))?$/
const DIRECTIVE = /^<!-- (background|skip|on|copied|in): (.+) -->$/

/**
 * Reads the steps of a guide. `sh` blocks are run and `text` blocks are what they print; a block with a name in brackets is a
 * file. Comments above a block say what else there is to know: `<!-- background: TEXT -->` for a command that runs on,
 * `<!-- skip: REASON -->` for one that cannot run in a test, `<!-- on: server -->` for the machine, `<!-- in: DIRECTORY -->`,
 * `<!-- copied: WORD=FIELD … -->` for words that stand for fields of a document that was printed, and `<!-- hidden` with commands
 * that only the test needs.
 */
export function readSteps(markdown: string): Step[] {
  const lines = markdown.split('\n')
  const steps: Step[] = []
  let directives = new Map<string, string>()

  /** The lines after `start` up to a line that is `end`. */
  function readBlock(start: number, end: string): { code: string; next: number } {
    const last = lines.indexOf(end, start + 1)
    if (last === -1) throw new Error(`line ${start + 1}: the block has no end`)
    return { code: lines.slice(start + 1, last).join('\n'), next: last + 1 }
  }

  for (let index = 0; index < lines.length; ) {
    const text = lines[index]!
    const line = index + 1
    const hidden = HIDDEN.exec(text)
    const fence = FENCE.exec(text)
    const [, word, argument] = DIRECTIVE.exec(text) ?? []
    if (hidden !== null) {
      const { code, next } = readBlock(index, '-->')
      const machine = (hidden[1] ?? 'laptop') as Machine
      steps.push({ kind: 'hidden', line, code, machine, copied: {} })
      index = next
    } else if (fence !== null) {
      const { code, next } = readBlock(index, '```')
      const step = readStep(fence, directives)
      if (step !== undefined) steps.push({ ...step, line, code, ...readContext(directives) })
      directives = new Map()
      index = next
    } else {
      if (word !== undefined) directives.set(word, argument!)
      else if (text !== '') directives = new Map()
      index++
    }
  }
  return steps
}

function readStep([, language, path]: RegExpExecArray, directives: ReadonlyMap<string, string>) {
  const reason = directives.get('skip')
  const until = directives.get('background')
  const directory = directives.get('in')
  if (reason !== undefined) return { kind: 'skip', reason } as const
  if (until !== undefined) return { kind: 'background', until, directory } as const
  if (path !== undefined) return { kind: 'file', path } as const
  if (language === 'sh') return { kind: 'run', directory } as const
  if (language === 'text') return { kind: 'output' } as const
  return undefined
}

function readContext(directives: ReadonlyMap<string, string>) {
  const copied = directives.get('copied')?.split(' ') ?? []
  return {
    machine: (directives.get('on') ?? 'laptop') as Machine,
    copied: Object.fromEntries(copied.map((pair) => pair.split('=') as [string, string])),
  }
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
