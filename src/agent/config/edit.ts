import {
  isAlias,
  isCollection,
  isMap,
  isNode,
  isScalar,
  type Pair,
  parseDocument,
  Scalar,
  type YAMLMap,
} from 'yaml'

/** A change of a text: what stands from `start` to `end` gives way to `text`. Everything around it stays as it was. */
export interface Edit {
  start: number
  end: number
  text: string
}

/** Applies changes that do not overlap. */
export function applyEdits(source: string, edits: readonly Edit[]): string {
  let result = ''
  let offset = 0
  for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start)) {
    result += source.slice(offset, start) + text
    offset = end
  }
  return result + source.slice(offset)
}

/** How the lines of a text end. */
export function lineEnding(source: string): string {
  return source.includes('\r\n') ? '\r\n' : '\n'
}

/** The entry of a map under a name that stands in it itself. */
export function pairOf(map: YAMLMap, name: string): Pair | undefined {
  return map.items.find(({ key }) => isScalar(key) && String(key.value) === name)
}

/** Where a node stands, without the comment after it. */
export function rangeOf(node: unknown): { start: number; end: number } {
  if (!isNode(node) || !node.range) throw new Error('The node was not read from a text.')
  return { start: node.range[0], end: node.range[1] }
}

/** The end of an entry: of its value, or of its key when it has none. */
export function endOf({ key, value }: Pair): number {
  return rangeOf(isNode(value) ? value : key).end
}

/** Gives a key another name. */
export function renameKey(map: YAMLMap, from: string, to: string): Edit[] {
  const pair = pairOf(map, from)
  return pair ? [{ ...rangeOf(pair.key), text: to }] : []
}

/** Puts YAML text in the place of a value; undefined when it is a map or a list, which somebody has to look at. */
export function replaceValue(source: string, { key, value }: Pair, text: string): Edit | undefined {
  if (!isNode(value) || isCollection(value)) return undefined
  const { start, end } = rangeOf(value)
  if (start === end) {
    const afterColon = source.indexOf(':', rangeOf(key).end) + 1
    return { start: afterColon, end: afterColon, text: ` ${text}` }
  }
  // A block of lines ends with its last line break.
  return { start, end, text: isBlock(value) ? `${text}${lineEnding(source)}` : text }
}

function isBlock(node: unknown): boolean {
  return isScalar(node) && (node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED)
}

/** Adds an entry behind the last one of a map. */
export function appendEntry(source: string, map: YAMLMap, entry: string): Edit {
  const last = map.items.at(-1)
  const { start, end } = rangeOf(map)
  if (!last) return { start, end, text: `{ ${entry} }` }
  const insertAt = endOf(last)
  if (map.flow) return { start: insertAt, end: insertAt, text: `, ${entry}` }
  const newline = lineEnding(source)
  const line = `${' '.repeat(columnOf(source, map))}${entry}`
  if (source[insertAt - 1] === '\n') return { start: insertAt, end: insertAt, text: `${line}${newline}` }
  const next = source.indexOf('\n', insertAt)
  return next < 0
    ? { start: source.length, end: source.length, text: `${newline}${line}${newline}` }
    : { start: next + 1, end: next + 1, text: `${line}${newline}` }
}

/** Adds an entry before the first one of a map that has some. */
export function prependEntry(source: string, map: YAMLMap, entry: string): Edit {
  const { start } = rangeOf(map.items[0]?.key)
  const separator = map.flow ? ', ' : `${lineEnding(source)}${' '.repeat(columnOf(source, map))}`
  return { start, end: start, text: `${entry}${separator}` }
}

/** The column the keys of a block map stand in. */
function columnOf(source: string, map: YAMLMap): number {
  const { start } = rangeOf(map.items[0]?.key)
  return / *$/.exec(source.slice(source.lastIndexOf('\n', start - 1) + 1, start))![0].length
}

/** How far the file indents what is inside something else. */
export function indentOf(source: string, root: YAMLMap): string {
  for (const { value } of root.items) {
    if (!isMap(value) || value.flow || value.items.length === 0) continue
    return ' '.repeat(Math.max(1, columnOf(source, value) - columnOf(source, root)))
  }
  return '  '
}

/** The text of a string in YAML, in quotes wherever somebody could read it as something else. */
export function formatScalar(value: string): string {
  const plain = /^\w[\w.:@/+=-]*$/.test(value) && !/^(?:y|n|yes|no|on|off)$|:$/i.test(value)
  if (!plain) return JSON.stringify(value)
  const { contents } = parseDocument(value)
  return isScalar(contents) && contents.value === value ? value : JSON.stringify(value)
}

/** The text a value was written as, where it can stand inside brackets as it is; else its content in quotes. */
export function formatInline(source: string, value: unknown): string {
  const { start, end } = rangeOf(value)
  const text = source.slice(start, end)
  const content = isScalar(value) ? String(value.value) : ''
  return isAlias(value) || /^["']/.test(text) || !/[,[\]{}\n]/.test(text) ? text : JSON.stringify(content)
}
