/** A highlighted part of a text. */
export interface SyntaxToken {
  kind: 'plain' | 'key' | 'string' | 'number' | 'word' | 'tag'
  text: string
}

/** Deep nesting makes indentation grow quadratically; beyond this limit the text is shown unformatted. */
const MAX_OUTPUT_LENGTH = 4_000_000

const JSON_TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/**
 * Formats JSON with line breaks and indentation. It works on the text, not on parsed values, so that long numbers,
 * duplicate keys and escapes stay as they were sent.
 */
export function formatJson(text: string): { tokens: SyntaxToken[] } | { problem: string } {
  try {
    JSON.parse(text)
  } catch (error) {
    return { problem: `Not valid JSON: ${(error as Error).message}` }
  }
  const output = new Output()
  const lexemes = text.match(JSON_TOKEN) ?? []
  for (const [index, lexeme] of lexemes.entries()) {
    if (output.full) return { problem: 'Too large or too deeply nested to format; shown unformatted.' }
    const next = lexemes[index + 1]
    if (lexeme === '{' || lexeme === '[') {
      output.add('plain', lexeme)
      output.depth++
      if (next !== '}' && next !== ']') output.breakLine()
    } else if (lexeme === '}' || lexeme === ']') {
      const previous = lexemes[index - 1]
      output.depth--
      if (previous !== '{' && previous !== '[') output.breakLine()
      output.add('plain', lexeme)
    } else if (lexeme === ',') {
      output.add('plain', lexeme)
      output.breakLine()
    } else if (lexeme === ':') output.add('plain', ': ')
    else output.add(jsonTokenKind(lexeme, next), lexeme)
  }
  return { tokens: output.tokens }
}

function jsonTokenKind(lexeme: string, next: string | undefined): SyntaxToken['kind'] {
  if (lexeme.startsWith('"')) return next === ':' ? 'key' : 'string'
  return /^[-\d]/.test(lexeme) ? 'number' : 'word'
}

/** Formats XML with one element per line, without validating it. Undefined if it is too large or too deeply nested. */
export function formatXml(text: string): SyntaxToken[] | undefined {
  const output = new Output()
  // True after an opening tag or text: more text and the closing tag stay on the same line.
  let inline = true
  for (const lexeme of splitXml(text)) {
    if (output.full) return undefined
    if (!lexeme.startsWith('<') || lexeme.startsWith('<![CDATA[')) {
      if (lexeme.trim() === '') continue
      if (!inline) output.breakLine()
      output.add('plain', lexeme.trim())
      inline = true
    } else if (lexeme.startsWith('</')) {
      output.depth = Math.max(0, output.depth - 1)
      if (!inline) output.breakLine()
      output.add('tag', lexeme)
      inline = false
    } else {
      if (output.tokens.length > 0) output.breakLine()
      output.add('tag', lexeme)
      inline = !/^<[?!]/.test(lexeme) && !lexeme.endsWith('/>')
      if (inline) output.depth++
    }
  }
  return output.tokens
}

/** Splits XML into tags, comments, CDATA sections and text. An unterminated part extends to the end, so the work stays linear. */
function* splitXml(text: string): Iterable<string> {
  for (let start = 0; start < text.length; ) {
    let end: number
    if (text[start] !== '<') end = text.indexOf('<', start)
    else {
      const closing = text.startsWith('<!--', start)
        ? '-->'
        : text.startsWith('<![CDATA[', start)
          ? ']]>'
          : '>'
      end = text.indexOf(closing, start)
      if (end >= 0) end += closing.length
    }
    if (end < 0) end = text.length
    yield text.slice(start, end)
    start = end
  }
}

class Output {
  readonly tokens: SyntaxToken[] = []
  depth = 0
  #length = 0

  get full(): boolean {
    return this.#length > MAX_OUTPUT_LENGTH
  }

  add(kind: SyntaxToken['kind'], text: string): void {
    this.#length += text.length
    const last = this.tokens.at(-1)
    if (kind === 'plain' && last?.kind === 'plain') last.text += text
    else this.tokens.push({ kind, text })
  }

  breakLine(): void {
    this.add('plain', `\n${'  '.repeat(this.depth)}`)
  }
}
