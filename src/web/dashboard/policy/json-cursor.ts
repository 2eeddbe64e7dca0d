import type { CursorContext } from './cursor-context.ts'

/** What is around the cursor in a JSON document. */
export interface JsonCursorContext extends CursorContext {
  /** Whether the cursor is inside a text, which has its opening quote then. */
  readonly isQuoted: boolean
  /** Whether the cursor is at an entry of a list, whose key is the last parent. */
  readonly inList: boolean
}

/** An object or list that is open at the cursor. */
interface Container {
  readonly isList: boolean
  /** The key whose value comes next; empty where a key does. */
  key: string
  /** The type that an object with an action has. */
  type: string | undefined
}

/** What is open at the end of a JSON document that is being written. Mistakes in it are passed over. */
export function findJsonContext(before: string): JsonCursorContext {
  const open: Container[] = []
  let index = 0
  while (index < before.length) {
    const container = open.at(-1)
    const character = before[index]!
    if (character === '"') {
      const end = endOfText(before, index)
      const text = before.slice(index + 1, end)
      if (end === before.length) return contextOf(open, text, true)
      if (container !== undefined && !container.isList) {
        if (container.key === '') container.key = text
        else if (container.key === 'type') container.type = text
      }
      index = end
    } else if (character === '{' || character === '[') {
      open.push({ isList: character === '[', key: '', type: undefined })
    } else if (character === '}' || character === ']') open.pop()
    else if (character === ',' && container !== undefined) container.key = ''
    index++
  }
  return contextOf(open, '', false)
}

/** The closing quote of a text, or the end of the document. */
function endOfText(document: string, start: number): number {
  for (let index = start + 1; index < document.length; index++) {
    if (document[index] === '\\') index++
    else if (document[index] === '"') return index
  }
  return document.length
}

function contextOf(open: readonly Container[], word: string, isQuoted: boolean): JsonCursorContext {
  const innermost = open.at(-1)
  const inList = innermost?.isList === true
  const above = inList ? open : open.slice(0, -1)
  const config = open.findLast(({ key }) => key === 'config')
  return {
    parents: above.flatMap(({ key }) => (key === '' ? [] : [key])),
    // An object belongs into most lists, and no word of the structure.
    key: inList ? '[]' : (innermost?.key ?? ''),
    actionType: (config ?? innermost)?.type,
    word,
    isQuoted,
    inList,
  }
}
