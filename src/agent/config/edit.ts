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

/** Replaces the text from `start` to `end` with `text`. */
export interface Edit {
  start: number
  end: number
  text: string
}

/** Applies edits that do not overlap. */
export function applyEdits(source: string, edits: readonly Edit[]): string {
  let result = ''
  let offset = 0
  for (const { start, end, text } of edits.toSorted((a, b) => a.start - b.start)) {
    result += source.slice(offset, start) + text
    offset = end
  }
  return result + source.slice(offset)
}

/** The line ending of a text. */
export function lineEnding(source: string): string {
  return source.includes('\r\n') ? '\r\n' : '\n'
}

/** The entry of a map by name, without merge keys. */
export function pairOf(map: YAMLMap, name: string): Pair | undefined {
  return map.items.find(({ key }) => isScalar(key) && String(key.value) === name)
}

/** The range of a node, without the comment after it. */
export function rangeOf(node: unknown): { start: number; end: number } {
  if (!isNode(node) || !node.range) throw new Error('The node was not read from a text.')
  return { start: node.range[0], end: node.range[1] }
}

/** The end of an entry: of its value, or of its key when it has none. */
export function endOf({ key, value }: Pair): number {
  return rangeOf(isNode(value) ? value : key).end
}

/** Renames a key. */
export function renameKey(map: YAMLMap, from: string, to: string): Edit[] {
  const pair = pairOf(map, from)
  return pair ? [{ ...rangeOf(pair.key), text: to }] : []
}

/** Replaces a value with YAML text; undefined for a map or a list, which the user has to edit. */
export function replaceValue(source: string, { key, value }: Pair, text: string): Edit | undefined {
  if (!isNode(value) || isCollection(value)) return undefined
  const { start, end } = rangeOf(value)
  if (start === end) {
    const afterColon = source.indexOf(':', rangeOf(key).end) + 1
    return { start: afterColon, end: afterColon, text: ` ${text}` }
  }
  // A block scalar ends with its last line break.
  return { start, end, text: isBlock(value) ? `${text}${lineEnding(source)}` : text }
}

function isBlock(node: unknown): boolean {
  return isScalar(node) && (node.type === Scalar.BLOCK_LITERAL || node.type === Scalar.BLOCK_FOLDED)
}

/** Adds an entry after the last one of a map. */
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

/** Adds an entry before the first one of a non-empty map. */
export function prependEntry(source: string, map: YAMLMap, entry: string): Edit {
  const { start } = rangeOf(map.items[0]?.key)
  const separator = map.flow ? ', ' : `${lineEnding(source)}${' '.repeat(columnOf(source, map))}`
  return { start, end: start, text: `${entry}${separator}` }
}

/** The column of a block map's keys. */
function columnOf(source: string, map: YAMLMap): number {
  const { start } = rangeOf(map.items[0]?.key)
  return / *$/.exec(source.slice(source.lastIndexOf('\n', start - 1) + 1, start))![0].length
}

/** The indentation the file uses for nested maps. */
export function indentOf(source: string, root: YAMLMap): string {
  for (const { value } of root.items) {
    if (!isMap(value) || value.flow || value.items.length === 0) continue
    return ' '.repeat(Math.max(1, columnOf(source, value) - columnOf(source, root)))
  }
  return '  '
}

/** Formats a string as YAML, quoted wherever a plain scalar could be read as another type. */
export function formatScalar(value: string): string {
  const plain = /^\w[\w.:@/+=-]*$/.test(value) && !/^(?:y|n|yes|no|on|off)$|:$/i.test(value)
  if (!plain) return JSON.stringify(value)
  const { contents } = parseDocument(value)
  return isScalar(contents) && contents.value === value ? value : JSON.stringify(value)
}

/** The source text of a value if it is valid inside brackets; otherwise its content in quotes. */
export function formatInline(source: string, value: unknown): string {
  const { start, end } = rangeOf(value)
  const text = source.slice(start, end)
  const content = isScalar(value) ? String(value.value) : ''
  return isAlias(value) || /^["']/.test(text) || !/[,[\]{}\n]/.test(text) ? text : JSON.stringify(content)
}
