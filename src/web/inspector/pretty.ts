/** A piece of highlighted text. */
export interface Token {
  kind: 'plain' | 'key' | 'string' | 'number' | 'word' | 'tag'
  text: string
}

const JSON_TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g

/**
 * JSON with line breaks and indentation. Works on the text, not on parsed values, so that long numbers, repeated keys and
 * escapes stay as they were sent; gives the parser's complaint when it is not JSON.
 */
export function prettyJson(text: string): { tokens: Token[] } | { problem: string } {
  try {
    JSON.parse(text)
  } catch (error) {
    return { problem: (error as Error).message }
  }
  const tokens: Token[] = []
  let depth = 0
  const all = text.match(JSON_TOKEN) ?? []
  const plain = (piece: string) => {
    const last = tokens.at(-1)
    if (last?.kind === 'plain') last.text += piece
    else tokens.push({ kind: 'plain', text: piece })
  }
  const line = () => `\n${'  '.repeat(depth)}`
  for (const [index, piece] of all.entries()) {
    const next = all[index + 1]
    if (piece === '{' || piece === '[') {
      depth++
      plain(next === '}' || next === ']' ? piece : piece + line())
    } else if (piece === '}' || piece === ']') {
      depth--
      const former = all[index - 1]
      plain(former === '{' || former === '[' ? piece : line() + piece)
    } else if (piece === ',') plain(piece + line())
    else if (piece === ':') plain(': ')
    else tokens.push({ kind: kindOfJson(piece, next), text: piece })
  }
  return { tokens }
}

function kindOfJson(piece: string, next: string | undefined): Token['kind'] {
  if (piece.startsWith('"')) return next === ':' ? 'key' : 'string'
  return /^[-\d]/.test(piece) ? 'number' : 'word'
}

const XML_PIECE = /<!--[\s\S]*?-->|<!\[CDATA\[[\s\S]*?\]\]>|<[^>]*>|[^<]+/g

/** XML with one element a line, its text left in place; it is not checked, only laid out. */
export function prettyXml(text: string): Token[] {
  const tokens: Token[] = []
  let depth = 0
  // True behind an opening tag or text: more text and the closing tag stay on its line.
  let beside = true
  const add = (kind: Token['kind'], piece: string, sameLine: boolean) => {
    if (!sameLine && tokens.length > 0) tokens.push({ kind: 'plain', text: `\n${'  '.repeat(depth)}` })
    tokens.push({ kind, text: piece })
  }
  for (const piece of text.match(XML_PIECE) ?? []) {
    if (!piece.startsWith('<') || piece.startsWith('<![CDATA[')) {
      if (piece.trim() === '') continue
      add('plain', piece.trim(), beside)
      beside = true
    } else if (piece.startsWith('</')) {
      depth = Math.max(0, depth - 1)
      add('tag', piece, beside)
      beside = false
    } else {
      add('tag', piece, false)
      beside = !/^<[?!]|\/>$/.test(piece)
      if (beside) depth++
    }
  }
  return tokens
}
