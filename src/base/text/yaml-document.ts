import { type Document, isAlias, isMap, isNode, isScalar, isSeq, type Node } from 'yaml'

/**
 * Options of the parser: its own look for repeated keys takes the square of their number, and it would write its warnings to the
 * standard error of the process.
 */
export const LINEAR_PARSING = { prettyErrors: false, uniqueKeys: false, logLevel: 'error' } as const

/** A mistake in a document, and where it is. */
export class YamlMistake extends Error {
  override name = 'YamlMistake'
  readonly offset: number

  constructor(message: string, node: unknown) {
    super(message)
    this.offset = (isNode(node) && node.range?.[0]) || 0
  }
}

/** A value with an anchor, and how long it is with its aliases expanded. */
interface Anchor {
  readonly node: Node
  readonly length: number
}

/**
 * Puts the values that aliases stand for in their places, in linear time. Throws `YamlMistake` when the document then has more
 * than `maxLength` characters, when an alias comes before its value, and when a map has a key twice.
 */
export function expandAliases({ contents }: Document, maxLength: number): void {
  const anchors = new Map<string, Anchor>()
  let length = contents?.range?.[1] ?? 0

  /** Replaces the aliases in a value; returns what they add to its length. */
  function expand(node: unknown): number {
    let added = 0
    const resolve = (value: unknown): unknown => {
      if (!isAlias(value)) {
        added += expand(value)
        return value
      }
      const anchor = anchors.get(value.source)
      if (anchor === undefined)
        throw new YamlMistake(`the alias *${value.source.slice(0, 60)} does not come after its value`, value)
      added += anchor.length
      length += anchor.length
      if (length > maxLength)
        throw new YamlMistake(`it is larger than ${maxLength / 1024} KiB with its aliases expanded`, value)
      return anchor.node
    }
    if (isMap(node)) {
      const keys = new Set<unknown>()
      for (const pair of node.items) {
        pair.key = resolve(pair.key)
        pair.value = resolve(pair.value)
        if (!isScalar(pair.key)) continue
        if (keys.has(pair.key.value))
          throw new YamlMistake(`Map keys must be unique: "${String(pair.key.value).slice(0, 60)}"`, pair.key)
        keys.add(pair.key.value)
      }
    } else if (isSeq(node))
      for (const [index, item] of node.items.entries()) node.items[index] = resolve(item)
    if (isNode(node) && 'anchor' in node && node.anchor !== undefined) {
      const [start, end] = node.range ?? [0, 0]
      anchors.set(node.anchor, { node, length: end - start + added })
    }
    return added
  }

  expand(contents)
}
