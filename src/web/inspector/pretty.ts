/** A piece of highlighted text. */
export interface Token {
  kind: 'plain' | 'key' | 'string' | 'number' | 'word' | 'tag'
  text: string
}

/** Deep nesting makes indentation grow with the square of the text; beyond this it is shown as it came. */
const MOST_OUTPUT = 4_000_000

const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/**
 * JSON with line breaks and indentation. Works on the text, not on parsed values, so that long numbers, repeated keys and
 * escapes stay as they were sent; says why when it cannot be laid out.
 */
export function prettyJson(text: string): { tokens: Token[] } | { problem: string } {
  try {
    JSON.parse(text)
  } catch (error) {
    return { problem: `Not valid JSON: ${(error as Error).message}` }
  }
  const out = new Output()
  const all = text.match(JSON_TOKEN) ?? []
  for (const [index, piece] of all.entries()) {
    if (out.full) return { problem: 'Too long or too deep to be laid out; shown as it came.' }
    const next = all[index + 1]
    if (piece === '{' || piece === '[') {
      out.add('plain', piece)
      out.depth++
      if (next !== '}' && next !== ']') out.line()
    } else if (piece === '}' || piece === ']') {
      const former = all[index - 1]
      out.depth--
      if (former !== '{' && former !== '[') out.line()
      out.add('plain', piece)
    } else if (piece === ',') {
      out.add('plain', piece)
      out.line()
    } else if (piece === ':') out.add('plain', ': ')
    else out.add(kindOfJson(piece, next), piece)
  }
  return { tokens: out.tokens }
}

function kindOfJson(piece: string, next: string | undefined): Token['kind'] {
  if (piece.startsWith('"')) return next === ':' ? 'key' : 'string'
  return /^[-\d]/.test(piece) ? 'number' : 'word'
}

/** XML with one element a line, its text left in place; it is not checked. Undefined when it is too long or too deep. */
export function prettyXml(text: string): Token[] | undefined {
  const out = new Output()
  // True behind an opening tag or text: more text and the closing tag stay on its line.
  let beside = true
  for (const piece of xmlPieces(text)) {
    if (out.full) return undefined
    if (!piece.startsWith('<') || piece.startsWith('<![CDATA[')) {
      if (piece.trim() === '') continue
      if (!beside) out.line()
      out.add('plain', piece.trim())
      beside = true
    } else if (piece.startsWith('</')) {
      out.depth = Math.max(0, out.depth - 1)
      if (!beside) out.line()
      out.add('tag', piece)
      beside = false
    } else {
      if (out.tokens.length > 0) out.line()
      out.add('tag', piece)
      beside = !/^<[?!]/.test(piece) && !piece.endsWith('/>')
      if (beside) out.depth++
    }
  }
  return out.tokens
}

/** Tags, comments, CDATA sections and the text between. What never ends is one piece, so the work stays linear. */
function* xmlPieces(text: string): Iterable<string> {
  for (let at = 0; at < text.length; ) {
    let end: number
    if (text[at] !== '<') end = text.indexOf('<', at)
    else {
      const closing = text.startsWith('<!--', at) ? '-->' : text.startsWith('<![CDATA[', at) ? ']]>' : '>'
      end = text.indexOf(closing, at)
      if (end >= 0) end += closing.length
    }
    if (end < 0) end = text.length
    yield text.slice(at, end)
    at = end
  }
}

class Output {
  readonly tokens: Token[] = []
  depth = 0
  #length = 0

  get full(): boolean {
    return this.#length > MOST_OUTPUT
  }

  add(kind: Token['kind'], text: string): void {
    this.#length += text.length
    const last = this.tokens.at(-1)
    if (kind === 'plain' && last?.kind === 'plain') last.text += text
    else this.tokens.push({ kind, text })
  }

  line(): void {
    this.add('plain', `\n${'  '.repeat(this.depth)}`)
  }
}
