/** What is wrong with an expression, and where. Lines and columns count from 1. */
export interface Diagnostic {
  readonly message: string
  readonly line: number
  readonly column: number
  /** The line of the source with a caret below the place. */
  readonly excerpt: string
}

/** A mistake at an offset of the source. */
export class SourceError extends Error {
  override name = 'SourceError'
  readonly offset: number

  constructor(message: string, offset: number) {
    super(message)
    this.offset = offset
  }
}

/** The excerpt shows at most this much of a line on either side of the place. */
const EXCERPT_REACH = 60

/** Locates a mistake in its source. */
export function diagnose(source: string, { message, offset }: SourceError): Diagnostic {
  const before = source.slice(0, offset)
  const lineStart = before.lastIndexOf('\n') + 1
  const newline = source.indexOf('\n', offset)
  const lineEnd = newline === -1 ? source.length : newline
  const start = Math.max(lineStart, offset - EXCERPT_REACH)
  const shown = source.slice(start, Math.min(lineEnd, offset + EXCERPT_REACH))
  return {
    message,
    line: before.split('\n').length,
    column: [...before.slice(lineStart)].length + 1,
    excerpt: `${shown}\n${' '.repeat([...source.slice(start, offset)].length)}^`,
  }
}

/** A diagnostic as text: `2:5: message`, then the excerpt. */
export function diagnosticText({ line, column, message, excerpt }: Diagnostic): string {
  return `${line}:${column}: ${message}\n${excerpt.replace(/^/gm, '  ')}`
}
